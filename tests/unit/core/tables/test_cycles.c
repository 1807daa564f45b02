/* test_cycles.c - who of those that wait is let in by one cycle, and in which order: objects in, decisions out (stories.h), as Kueue
 * documents it, but where a case says that we do otherwise */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "table.h"

#define ROOM "node n0 gpu=1000;"
#define BEST ROOM "queue q gpu=4;"
#define STRICT ROOM "queue q gpu=4 strict;"
/* Two queues of a cohort, four each. */
#define PAIR(words) ROOM "queue a in=c gpu=4 " words "; queue b in=c gpu=4 " words ";"

static const struct table_case cases[] = {
    /* ---- one queue ---- */
    {"who came first", BEST "wants young gpu=4 at=9; wants old gpu=4 at=5", "start old"},
    {"whatever the order in which they were heard of", BEST "wants old gpu=4 at=5; wants young gpu=4 at=9", "start old"},
    {"higher priority before that", BEST "wants old gpu=4 at=5; wants high gpu=4 prio=1 at=9", "start high"},
    {"of equal priority who is due before who is not", BEST "wants old gpu=4 at=5; wants due gpu=4 due=99 at=9", "start due"},
    {"who is due first, whoever is older", BEST "wants old gpu=4 at=5 due=99; wants due gpu=4 due=98 at=9", "start due"},
    {"higher priority before those who are due", BEST "wants due gpu=4 at=5 due=9; wants high gpu=4 prio=1 at=9", "start high"},
    {"negative priority last", BEST "wants low gpu=4 prio=-1 at=5; wants young gpu=4 at=9", "start young"},
    {"the ends of what a priority may be",
     BEST "wants least gpu=2 prio=-2147483648 at=1; wants most gpu=2 prio=2147483647 at=9; wants none gpu=2 at=5", "start most; start none"},
    {"of the same second by their uid", BEST "wants b gpu=4 at=5; wants a gpu=4 at=5", "start a"},
    {"all for whom there is room, in one cycle", BEST "wants a gpu=1; wants b gpu=1; wants c gpu=2", "start a; start b; start c"},
    {"BestEffortFIFO: who is too large is passed by", BEST "runs r gpu=2; wants large gpu=3 at=1; wants small gpu=2 at=2", "start small"},
    {"of those behind it the first again", BEST "runs r gpu=2; wants large gpu=3 at=1; wants two gpu=2 at=3; wants one gpu=2 at=2", "start one"},
    {"StrictFIFO: nobody passes the first", STRICT "runs r gpu=2; wants large gpu=3 at=1; wants small gpu=2 at=2", "", "small", "large"},
    {"StrictFIFO: in its order as far as there is room", STRICT "wants a gpu=2 at=1; wants b gpu=3 at=2; wants c gpu=1 at=3", "start a"},
    {"StrictFIFO: one of higher priority is the first", STRICT "runs r gpu=2; wants large gpu=3 at=1; wants small gpu=2 prio=1 at=2",
     "start small"},
    {"StrictFIFO: one that could never start is in the way, too", STRICT "wants huge gpu=9 at=1; wants small gpu=2 at=2", "", "small", "huge"},
    {"BestEffortFIFO: it is not", BEST "wants huge gpu=9 at=1; wants small gpu=2 at=2", "start small"},
    {"StrictFIFO: one that is not active is no first", STRICT "wants off gpu=3 at=1 stopped; wants small gpu=2 at=2", "start small"},
    {"StrictFIFO: nor one that waits after an eviction", STRICT "wants again gpu=4 at=1 later; wants small gpu=2 at=2", "start small"},
    {"StrictFIFO: nor one of a LocalQueue on hold",
     STRICT "local held queue=q hold; wants first local=held gpu=4 at=1; wants small gpu=2 at=2", "start small"},
    {"who is not active waits for good", BEST "wants off gpu=1 stopped", "", "off", "deactivated"},
    {"who waits after an eviction waits", BEST "wants again gpu=1 later", ""},

    {"who would have others go for all of its pods stands where that puts it, not where fewer would",
     ROOM "queue q in=c gpu=4 within=Lower; queue other in=c gpu=1; runs low gpu=4; wants j prio=9 x=4 min=1 gpu=1; wants k queue=other gpu=1",
     "evict low InClusterQueue; start k"},
    {"and who would for fewer, where that puts it",
     ROOM "queue q in=c gpu=4 within=Lower; queue other in=c gpu=1; runs low gpu=4; wants j prio=9 x=6 min=4 gpu=1; wants k queue=other gpu=1",
     "evict low InClusterQueue; start k"},
    {"all of its pods, once others have left who are told to, rather than fewer now",
     ROOM "queue a in=c gpu=4 reclaim=Any; queue b in=c gpu=4 reclaim=Any; queue z in=c gpu=0; runs x queue=z gpu=5;"
          "wants j queue=a prio=9 x=4 gpu=1; wants k queue=b x=4 min=1 gpu=1",
     "evict x InCohortReclamation", "k", "1 more needed"},

    /* ---- stop policies ---- */
    {"a queue on hold lets nobody in", ROOM "queue q gpu=4 hold; wants a gpu=1", "", "a", "stopped"},
    {"and ends nobody", ROOM "queue q gpu=4 hold; runs r gpu=1; wants a gpu=1", ""},
    {"one that is drained ends those that run", ROOM "queue q gpu=4 drain; runs r gpu=1; wants a gpu=1", "evict r otherwise"},
    {"a LocalQueue on hold lets nobody in", BEST "local l queue=q hold; wants a local=l gpu=1", "", "a", "stopped"},
    {"and keeps nobody else waiting", BEST "local l queue=q hold; wants a local=l gpu=1; wants b gpu=1", "start b"},
    {"what a queue on hold has may be borrowed all the same",
     ROOM "queue a in=c gpu=4; queue b in=c gpu=4 hold; wants j queue=a gpu=8", "start j"},
    {"a queue that is drained gives back what it has: in the next cycle others have it",
     ROOM "queue a in=c gpu=4; queue b in=c gpu=0 drain; runs r queue=b gpu=2; wants j queue=a gpu=4", "evict r otherwise"},

    /* ---- LocalQueues ---- */
    {"LocalQueues of one queue stand in one line", BEST "local l queue=q; wants young gpu=4 at=9; wants old local=l gpu=4 at=5", "start old"},
    {"one that leads to no queue", BEST "local l queue=none; wants a local=l gpu=1; wants b gpu=1", "start b", "a", "none"},
    {"one that is not there", BEST "wants a local=l gpu=1; wants b gpu=1", "start b", "a", "LocalQueue l doesn't exist"},

    /* ---- several queues of a cohort ---- */
    {"each its own", PAIR("") "wants x queue=a gpu=4; wants y queue=b gpu=4", "start x; start y"},
    {"who does not borrow comes before who does", PAIR("") "wants x queue=a gpu=6 at=1; wants y queue=b gpu=4 at=9", "start y"},
    {"whatever their priorities", PAIR("") "wants x queue=a gpu=6 prio=9; wants y queue=b gpu=4", "start y"},
    {"of two that borrow the higher priority", PAIR("") "wants x queue=a gpu=5 at=1; wants y queue=b gpu=5 prio=1 at=9", "start y"},
    {"then the older", PAIR("") "wants x queue=a gpu=5 at=9; wants y queue=b gpu=5 at=1", "start y"},
    {"what is borrowed first is not there for the next", PAIR("") "wants x queue=a gpu=5 at=1; wants y queue=b gpu=4 prio=-9 at=2; wants z queue=a gpu=4 at=3",
     "start y; start z"},
    {"a head that fails leaves its turn to the next of its queue",
     PAIR("") "wants huge queue=a gpu=9 at=1; wants x queue=a gpu=4 at=2; wants y queue=b gpu=4 at=3", "start y; start x"},
    {"in turns: the second of a queue comes after the first of the other",
     ROOM "queue a in=c gpu=0; queue b in=c gpu=0; cohort c gpu=3; wants a1,a2 queue=a gpu=1 at=1; wants b1 queue=b gpu=1 at=9",
     "start a1; start b1; start a2"},
    {"who borrows in his own cohort comes before who borrows from further up",
     ROOM "cohort root; cohort l in=root gpu=2; queue a in=l gpu=0; queue b in=root gpu=0; wants y queue=a gpu=2; wants z queue=b gpu=2 prio=9",
     "start y"},
    {"strict queues block only themselves",
     ROOM "queue a in=c gpu=4 strict reclaim=Any; queue b in=c gpu=4; wants huge queue=a gpu=9 at=1; wants x queue=a gpu=1 at=2;"
          "wants y queue=b gpu=4 at=3",
     "start y"},
    {"queues without a cohort do not know of each other", ROOM "queue a gpu=4; queue b gpu=4; wants x queue=a gpu=5; wants y queue=b gpu=4",
     "start y"},
    {"nodes are everybody's: who comes first takes them",
     "node n0 gpu=4; queue a gpu=4; queue b gpu=4; wants x queue=a gpu=4 at=9; wants y queue=b gpu=4 at=1", "start y"},

    /* ---- what a blocked head keeps ---- */
    {"what a strict head may still take is kept for it",
     ROOM "queue a in=c gpu=4 strict; queue b in=c gpu=0; runs r queue=b gpu=2; wants head queue=a gpu=4 at=1; wants late queue=b gpu=2 at=2", ""},
    {"as far as it is its queue's own",
     ROOM "queue a in=c gpu=4 strict; queue b in=c gpu=0; queue d in=c gpu=2; runs r queue=b gpu=2; wants head queue=a gpu=4 at=1 prio=9;"
          "wants late queue=b gpu=2 at=2",
     "start head"},
    {"one that may take it back at any time keeps nothing",
     ROOM "queue a in=c gpu=4 strict reclaim=Any; queue b in=c gpu=0; runs r queue=b prio=9 gpu=2 leaving; wants head queue=a gpu=9 at=1;"
          "wants late queue=b gpu=2 at=2",
     "start late"},
    {"nor does the head of a BestEffortFIFO queue",
     ROOM "queue a in=c gpu=4; queue b in=c gpu=0; runs r queue=b gpu=2; wants head queue=a gpu=4 at=1; wants late queue=b gpu=2 at=2",
     "start late"},

    /* ---- those for whom others go ---- */
    {"who goes is told, and nobody starts in his place yet", ROOM "queue q gpu=4 within=Lower; runs low gpu=4; wants high prio=9 gpu=4",
     "evict low InClusterQueue", "high", "preemption of 1 workload"},
    {"those behind it take what it leaves",
     ROOM "queue q gpu=6 within=Lower; runs low gpu=4; wants high prio=9 gpu=5 at=1; wants small prio=5 gpu=1 at=2",
     "evict low InClusterQueue; start small"},
    {"and nothing of what it waits for",
     ROOM "queue q gpu=6 within=Lower; runs low gpu=4; wants high prio=9 gpu=5 at=1; wants small prio=5 gpu=2 at=2",
     "evict low InClusterQueue"},
    {"two heads find each his own victim",
     PAIR("within=Lower") "runs x queue=a gpu=4; runs y queue=b gpu=4; wants h queue=a prio=9 gpu=4; wants k queue=b prio=9 gpu=4",
     "evict x InClusterQueue; evict y InClusterQueue"},
    {"a victim is taken once: the second looks for another",
     ROOM "queue a in=c gpu=2 reclaim=Any; queue b in=c gpu=2 reclaim=Any; queue o in=c gpu=0; runs x,y queue=o gpu=2; wants h queue=a gpu=2;"
          "wants k queue=b gpu=2",
     "evict x InCohortReclamation; evict y InCohortReclamation"},
    {"one of two large enough for both is not told twice",
     ROOM "queue a in=c gpu=2 reclaim=Any; queue b in=c gpu=2 reclaim=Any; queue o in=c gpu=0; runs x queue=o gpu=4; wants h queue=a gpu=2;"
          "wants k queue=b gpu=2",
     "evict x InCohortReclamation"},
    {"nobody goes for a second who needs what is promised to the first",
     ROOM "queue q gpu=4 within=Lower; runs low gpu=4; wants high prio=9 gpu=4; wants next prio=8 gpu=4", "evict low InClusterQueue"},
    {"who leaves already is waited for", ROOM "queue q gpu=4 within=Lower; runs low gpu=4 leaving; wants high prio=9 gpu=4", ""},
    {"a lender takes back while another starts in what is left",
     ROOM "queue a in=c gpu=4 reclaim=Any; queue b in=c gpu=4; runs x,y queue=b gpu=3; wants h queue=a gpu=4; wants z queue=b gpu=1",
     "evict x InCohortReclamation; start z"},
    {"who fits needs nobody to go, and comes before who does",
     ROOM "queue a in=c gpu=4 within=Lower; queue b in=c gpu=4; runs low queue=a gpu=4; wants high queue=a prio=9 gpu=4 at=9;"
          "wants y queue=b gpu=4 at=1",
     "start y; evict low InClusterQueue"},
    {"StrictFIFO: a first for whom somebody goes holds the others back",
     ROOM "queue q gpu=6 strict within=Lower; runs low gpu=4; wants high prio=9 gpu=5 at=1; wants small gpu=1 at=2", "evict low InClusterQueue"},
    {"who would borrow waits while his lender goes on (we do otherwise: Kueue lets him in and evicts him)",
     ROOM "queue own in=c gpu=4 reclaim=Any; queue o in=c gpu=0; wants b queue=o gpu=2 prio=9; wants a1 queue=own gpu=2; wants a2 queue=own gpu=2",
     "start a1; start a2"},
    {"and starts in the same cycle with what is left",
     ROOM "queue own in=c gpu=4 reclaim=Any; queue o in=c gpu=0; wants b queue=o gpu=2 prio=9; wants a1 queue=own gpu=1; wants a2 queue=own gpu=1",
     "start a1; start a2; start b"},

    /* ---- trees that are wrong, or were cut ---- */
    {"cohorts in a circle let nobody in", ROOM "cohort c in=d; cohort d in=c; queue q in=c gpu=4; wants a gpu=1", "", "a", "cycle"},
    {"queues elsewhere go on", ROOM "cohort c in=d; cohort d in=c; queue q in=c gpu=4; queue o gpu=4; wants a gpu=1; wants b queue=o gpu=1", "start b"},
    {"a quota that was cut lets nobody in until it is enough again", ROOM "queue q gpu=2; runs r gpu=4; wants a gpu=1", "", "a", "quota"},
    {"and ends nobody", ROOM "queue q gpu=0; runs r gpu=4; wants a gpu=0", "start a"},
    {"a lender who was cut has less to lend", ROOM "queue a in=c gpu=2; queue b in=c gpu=1; runs r queue=b gpu=2; wants x queue=a gpu=2", "", "x",
     "quota"},
    {"a parent that is only named is there", ROOM "queue a in=l gpu=0; cohort l in=root; queue b in=root gpu=4; wants x queue=a gpu=4", "start x"},
    {"a queue without quota for what is asked", ROOM "queue q cpu=4; wants a gpu=1", "", "a", "unavailable in ClusterQueue"},
    {"more than there will ever be", PAIR("") "wants x queue=a gpu=9", "", "x", "maximum"},

    /* ---- nodes ---- */
    {"quota is enough, nodes are not: nobody holds the quota meanwhile",
     "node n0 gpu=4; queue q gpu=100; wants large gpu=8 at=1; wants small gpu=4 at=2", "start small", "large", "no node"},
    {"all pods or none", "node n0 gpu=4; node n1 gpu=2; queue q gpu=100; wants three x=3 gpu=2; wants four x=4 gpu=2", "start three"},
    {"what others hold without being in a queue", "node n0 gpu=4; queue q gpu=100; pod p gpu=3 on=n0; wants a gpu=2", "", "a", "node"},
};

static void each_cycle_is_as_it_says(void **state)
{
    (void)state;
    CHECK_TABLE(cases, decided);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_cycle_is_as_it_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
