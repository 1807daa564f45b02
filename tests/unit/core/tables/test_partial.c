/* test_partial.c - jobs that may start with fewer pods, and admission checks: one cycle each, objects in, decision out (stories.h), as
 * Kueue documents it, but where a case says that we do otherwise */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "table.h"

#define ROOM "node n0 gpu=1000;"
#define TWO "node na is=kind:a gpu=1000; node nb is=kind:b gpu=1000;"
#define CHECKED ROOM "queue q fa.gpu=4 fb.gpu=4 check=c;"
#define OF_FLAVOR ROOM "queue q fa.gpu=4 fb.gpu=4 check=c,fb;"

static const struct table_case cases[] = {
    /* ---- fewer pods ---- */
    {"all where all fit", ROOM "queue q fa.gpu=4; wants j x=4 min=1 gpu=1", "j: 4 gpu=fa"},
    {"as many as fit", ROOM "queue q fa.gpu=4; wants j x=9 min=1 gpu=1", "j: 4 gpu=fa"},
    {"of two GPUs each half as many", ROOM "queue q fa.gpu=5; wants j x=9 min=1 gpu=2", "j: 2 gpu=fa"},
    {"no fewer than the fewest", ROOM "queue q fa.gpu=4; wants j x=9 min=5 gpu=1", "", "j", "current podset request (5) > maximum capacity (4)"},
    {"just the fewest", ROOM "queue q fa.gpu=4; wants j x=9 min=4 gpu=1", "j: 4 gpu=fa"},
    {"who says no fewest starts whole or not", ROOM "queue q fa.gpu=4; wants j x=9 gpu=1", ""},
    {"what others hold is not there", ROOM "queue q fa.gpu=4; runs r gpu=1 flavor=fa; wants j x=9 min=1 gpu=1", "j: 3 gpu=fa"},
    {"all of them in a later flavor rather than some in the first", ROOM "queue q fa.gpu=4 fb.gpu=9; wants j x=9 min=1 gpu=1", "j: 9 gpu=fb"},
    {"the flavor that holds more of them", ROOM "queue q fa.gpu=2 fb.gpu=4; wants j x=9 min=1 gpu=1", "j: 4 gpu=fb"},
    {"fewer of one set, all of the other",
     ROOM "queue q fa.gpu=6; wants j set=one x=2 gpu=1 set=two x=9 min=1 gpu=1", "j: 2 gpu=fa, 4 gpu=fa"},
    {"what may be left out is left out in proportion (5 of 4 and 1: 4 and 1)",
     ROOM "queue q fa.gpu=5; wants j set=one x=8 min=4 gpu=1 set=two x=2 min=1 gpu=1", "j: 4 gpu=fa, 1 gpu=fa"},
    {"pods that are over need nothing", ROOM "queue q fa.gpu=4; wants j x=9 min=1 over=3 gpu=1", "j: 4 gpu=fa"},
    {"what may be borrowed makes more of them",
     ROOM "queue q in=c fa.gpu=2; queue o in=c fa.gpu=3; wants j x=9 min=1 gpu=1", "j: 5 gpu=fa"},
    {"as far as the limit", ROOM "queue q in=c fa.gpu=2/1; queue o in=c fa.gpu=3; wants j x=9 min=1 gpu=1", "j: 3 gpu=fa"},
    {"all of them, though others have to go, rather than fewer",
     ROOM "queue q fa.gpu=4 within=Lower; runs low gpu=2 flavor=fa; wants j prio=9 x=4 min=1 gpu=1", "evict low InClusterQueue"},
    {"where all of them cannot be had, too, as many as there is room for once others have gone",
     ROOM "queue q fa.gpu=4 within=Lower; runs low gpu=2 flavor=fa; wants j prio=9 x=5 min=1 gpu=1", "evict low InClusterQueue"},
    {"fewer where nobody may go", ROOM "queue q fa.gpu=4 within=Lower; runs high prio=9 gpu=2 flavor=fa; wants j prio=9 x=5 min=1 gpu=1",
     "j: 2 gpu=fa"},
    {"the fewest where others must go for those",
     ROOM "queue q fa.gpu=4 within=Lower; runs low gpu=2 flavor=fa; wants j prio=9 x=5 min=4 gpu=1", "evict low InClusterQueue"},
    {"a second job has what is left", ROOM "queue q fa.gpu=4; wants a x=3 min=1 gpu=1; wants b x=3 min=1 gpu=1", "a: 3 gpu=fa; b: 1 gpu=fa"},
    {"StrictFIFO: the first starts with fewer rather than to wait",
     ROOM "queue q fa.gpu=4 strict; wants a x=9 min=1 gpu=1; wants b gpu=1", "a: 4 gpu=fa"},
    {"a node selector holds for fewer, too",
     TWO "queue q fa.gpu=4 fb.gpu=2; flavor fa is=kind:a; flavor fb is=kind:b; wants j x=9 min=1 gpu=1 where=kind:b", "j: 2 gpu=fb"},
    {"where more of them fit than the fewest: halving comes by those (3 would stand where two has to, 4 do not fit there)",
     TWO "queue q in=c fb.gpu=0 fa.gpu=3/0 borrow-last; queue other in=c fb.gpu=4 fa.gpu=0; flavor fa is=kind:a; flavor fb is=kind:b;"
         "wants j set=one x=5 min=3 gpu=1 set=two gpu=3 where=kind:a",
     "j: 4 gpu=fb, 1 gpu=fa"},
    {"as many as nodes hold (Kueue would count quota alone)", "node n0 gpu=3; queue q fa.gpu=9; wants j x=9 min=1 gpu=1", "j: 3 gpu=fa"},
    {"and each of them whole", "node n0 gpu=3; node n1 gpu=3; queue q fa.gpu=99; wants j x=9 min=1 gpu=2", "j: 2 gpu=fa"},

    /* ---- admission checks ---- */
    {"quota first: it is not admitted yet", CHECKED "wants j gpu=4", "j (checks): 1 gpu=fa", "j", "waits for admission check c"},
    {"whether nodes are there or not", "queue q fa.gpu=4 check=c; wants j gpu=4", "j (checks): 1 gpu=fa"},
    {"none without quota", CHECKED "wants j gpu=5", "", "j", "quota"},
    {"a check of another flavor is not asked", OF_FLAVOR "wants j gpu=4", "j: 1 gpu=fa"},
    {"one of this flavor is", OF_FLAVOR "runs r gpu=4 flavor=fa; wants j gpu=4", "j (checks): 1 gpu=fb", "j", "waits for admission check c"},
    {"of two sets one has that flavor", OF_FLAVOR "wants j set=one gpu=4 set=two gpu=4", "j (checks): 1 gpu=fa, 1 gpu=fb"},
    {"two checks", ROOM "queue q fa.gpu=4 check=c check=d; wants j gpu=4", "j (checks): 1 gpu=fa", "j", "admission check c, admission check d"},
    {"one that is ready already is not waited for",
     ROOM "queue q fa.gpu=4 check=c check=d; wants j gpu=4 c:ready", "j (checks): 1 gpu=fa", "j", "waits for admission check d"},
    {"all of them: admitted at once", CHECKED "wants j gpu=4 c:ready", "j (checks): 1 gpu=fa; j: 1 gpu=fa"},
    {"what is reserved is not there for others", CHECKED "wants a gpu=4; wants b gpu=3", "a (checks): 1 gpu=fa; b (checks): 1 gpu=fb"},
    {"nor what waits already", CHECKED "runs r gpu=4 flavor=fa reserved; runs s gpu=2 flavor=fb reserved; wants j gpu=3", "", "j", "quota"},
    {"who has quota is admitted once its check is ready", CHECKED "runs r gpu=4 flavor=fa reserved c:ready", "r: 1 gpu=fa"},
    {"not before", CHECKED "runs r gpu=4 flavor=fa reserved c:pending", "", "r", "waits for admission check c"},
    {"one that is to try again gives its quota back", CHECKED "runs r gpu=4 flavor=fa reserved c:retry", "evict r otherwise"},
    {"and so does one that runs", CHECKED "runs r gpu=4 flavor=fa c:retry", "evict r otherwise"},
    {"a check that nobody demands any more", ROOM "queue q fa.gpu=4; runs r gpu=4 flavor=fa reserved c:pending", "r: 1 gpu=fa"},
    {"checks are ready, nodes are not there: it waits with its quota (Kueue would let it start)",
     "node n0 gpu=2; queue q fa.gpu=4 check=c; runs r gpu=4 flavor=fa reserved c:ready", "", "r", "node"},
    {"higher priority ends who waits for checks, too",
     ROOM "queue q fa.gpu=4 within=Lower check=c; runs low gpu=4 flavor=fa reserved c:pending; wants j prio=9 gpu=4",
     "evict low InClusterQueue"},
    {"fewer pods, and a check", ROOM "queue q fa.gpu=4 check=c; wants j x=9 min=1 gpu=1", "j (checks): 4 gpu=fa"},
};

static void each_is_as_it_says(void **state)
{
    (void)state;
    CHECK_TABLE(cases, victims_or_flavors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_is_as_it_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
