/* test_flavors.c - which flavor each pod set is given: one cycle each, objects in, decision out (stories.h), as Kueue documents it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "table.h"

#define NODES "node na is=kind:a gpu=1000; node nb is=kind:b gpu=1000; node nc is=kind:c gpu=1000;"
#define KINDS "flavor fa is=kind:a; flavor fb is=kind:b; flavor fc is=kind:c;"
#define ONE NODES "queue q fa.gpu=4;"
#define TWO NODES "queue q fa.gpu=4 fb.gpu=4;"
#define LENT(words) NODES "queue q in=c fa.gpu=2 fb.gpu=2 " words "; queue other in=c fa.gpu=4 fb.gpu=0;"

static const struct table_case cases[] = {
    /* ---- one flavor ---- */
    {"what is left is given", ONE "wants j gpu=4", "j: 1 gpu=fa"},
    {"one more than the quota is not", ONE "wants j gpu=5", "", "j", "insufficient quota for nvidia.com/gpu in flavor fa"},
    {"pods count together", ONE "wants j x=2 gpu=2", "j: 2 gpu=fa"},
    {"and are too many together", ONE "wants j x=3 gpu=2", "", "j", "fa"},
    {"what others hold is not left", ONE "runs r gpu=3 flavor=fa; wants j gpu=2", "", "j", "1 more needed"},
    {"pods that are over need nothing", ONE "wants j x=6 gpu=1 over=2", "j: 4 gpu=fa"},
    {"nothing of a resource that the queue does not cover is no request", ONE "wants j gpu=1 cpu=0", "j: 1 gpu=fa"},
    {"a resource that it does not cover", ONE "wants j gpu=1 cpu=1", "", "j", "resource cpu unavailable in ClusterQueue"},
    {"each resource has its own quota", NODES "queue q fa.gpu=4 fa.cpu=2; wants j gpu=1 cpu=3", "", "j", "cpu"},
    {"and both are given of one flavor", NODES "queue q fa.gpu=4 fa.cpu=3; wants j gpu=1 cpu=3", "j: 1 cpu=fa gpu=fa"},

    /* ---- several, in their order ---- */
    {"the first that has room", TWO "wants j gpu=1", "j: 1 gpu=fa"},
    {"in the order of the queue, not of their names", NODES "queue q fb.gpu=4 fa.gpu=4; wants j gpu=1", "j: 1 gpu=fb"},
    {"the next where the first is full", TWO "runs r gpu=4 flavor=fa; wants j gpu=1", "j: 1 gpu=fb"},
    {"the next where the first is too small", NODES "queue q fa.gpu=2 fb.gpu=4; wants j gpu=3", "j: 1 gpu=fb"},
    {"no job is divided over flavors", TWO "wants j x=8 gpu=1", "", "j", "fb"},
    {"two jobs may be", TWO "wants j,k gpu=3", "j: 1 gpu=fa; k: 1 gpu=fb"},
    {"none has room", TWO "runs r,s gpu=3 flavor=fa; runs t gpu=4 flavor=fb; wants j gpu=2", "", "j", "fb"},
    {"all resources of a group come from one flavor",
     NODES "queue q fa.gpu=4 fa.cpu=1 fb.gpu=4 fb.cpu=9; wants j gpu=1 cpu=5", "j: 1 cpu=fb gpu=fb"},
    {"so that half of them here and half there is nothing",
     NODES "queue q fa.gpu=4 fa.cpu=1 fb.gpu=0 fb.cpu=9; wants j gpu=1 cpu=5", "", "j", "cpu"},
    {"three: the second", NODES "queue q fa.gpu=1 fb.gpu=2 fc.gpu=3; wants j gpu=2", "j: 1 gpu=fb"},
    {"three: the last", NODES "queue q fa.gpu=1 fb.gpu=2 fc.gpu=3; wants j gpu=3", "j: 1 gpu=fc"},

    /* ---- resource groups ---- */
    {"groups choose each for itself", NODES "queue q fa.gpu=1 fb.gpu=4 + fc.cpu=9; wants j gpu=2 cpu=3", "j: 1 gpu=fb cpu=fc"},
    {"a group that is not asked gives nothing", NODES "queue q fa.gpu=4 + fc.cpu=9; wants j gpu=2", "j: 1 gpu=fa"},
    {"one that has no room refuses all", NODES "queue q fa.gpu=4 + fc.cpu=2; wants j gpu=2 cpu=3", "", "j", "cpu"},
    {"each with a second flavor",
     NODES "queue q fa.gpu=1 fb.gpu=4 + fc.cpu=1 fd.cpu=9; wants j gpu=2 cpu=3", "j: 1 gpu=fb cpu=fd"},
    {"a label of one group's flavors says nothing of the other's",
     NODES "queue q fa.gpu=4 fb.gpu=4 + fc.cpu=9; flavor fa is=kind:a; flavor fb is=kind:b; wants j gpu=1 cpu=1 where=kind:b",
     "j: 1 gpu=fb cpu=fc"},

    /* ---- pod sets of a group ---- */
    {"they take one flavor that holds both", NODES "queue q fa.gpu=4 fb.gpu=9; wants j set=l group=g gpu=1 set=w group=g x=4 gpu=1",
     "j: 1 gpu=fb, 4 gpu=fb"},
    {"of no group: each for itself", NODES "queue q fa.gpu=4 fb.gpu=9; wants j set=l gpu=1 set=w x=4 gpu=1", "j: 1 gpu=fa, 4 gpu=fb"},
    {"of two groups: each for itself", NODES "queue q fa.gpu=4 fb.gpu=9; wants j set=l group=g gpu=1 set=w group=h x=4 gpu=1",
     "j: 1 gpu=fa, 4 gpu=fb"},
    {"both come before what stands between them",
     NODES "queue q fa.gpu=5 fb.gpu=9; wants j set=l group=g gpu=1 set=m gpu=3 set=w group=g x=4 gpu=1", "j: 1 gpu=fa, 1 gpu=fb, 4 gpu=fa"},
    {"a taint that only one of them tolerates",
     TWO "flavor fa taint=spot; wants j set=l group=g gpu=1 tolerates=spot set=w group=g gpu=1", "j: 1 gpu=fb, 1 gpu=fb"},
    {"what only one of them asks for counts for both",
     NODES "queue q fa.gpu=4 fa.cpu=1 fb.gpu=4 fb.cpu=9; wants j set=l group=g gpu=1 set=w group=g gpu=1 cpu=5",
     "j: 1 gpu=fb, 1 cpu=fb gpu=fb"},
    {"none holds both", TWO "wants j set=l group=g gpu=1 set=w group=g x=4 gpu=1", "", "j", "current podset request (5)"},
    {"nodes refuse both: the next",
     "node na is=kind:a gpu=4; node nb is=kind:b gpu=5; queue q fa.gpu=9 fb.gpu=9; flavor fa is=kind:a; flavor fb is=kind:b;"
     "wants j set=l group=g gpu=1 set=w group=g x=4 gpu=1", "j: 1 gpu=fb, 4 gpu=fb"},
    {"the next for both, and what stands between them stays",
     "node na is=kind:a gpu=7; node nb is=kind:b gpu=5; queue q fa.gpu=9 fb.gpu=9; flavor fa is=kind:a; flavor fb is=kind:b;"
     "wants j set=l group=g gpu=1 set=m gpu=3 set=w group=g x=4 gpu=1", "j: 1 gpu=fb, 1 gpu=fa, 4 gpu=fb"},

    /* ---- taints, labels ---- */
    {"a taint that nobody tolerates is passed over", TWO "flavor fa taint=spot; wants j gpu=1", "j: 1 gpu=fb"},
    {"the pod tolerates it", TWO "flavor fa taint=spot; wants j gpu=1 tolerates=spot", "j: 1 gpu=fa"},
    {"another toleration does not help", TWO "flavor fa taint=spot; wants j gpu=1 tolerates=other", "j: 1 gpu=fb"},
    {"the flavor tolerates it itself", TWO "flavor fa taint=spot tolerates=spot; wants j gpu=1", "j: 1 gpu=fa"},
    {"all have one", TWO "flavor fa taint=spot; flavor fb taint=old; wants j gpu=1", "", "j",
     "untolerated taint {spot} in flavor fa, untolerated taint {old} in flavor fb"},
    {"a node selector picks the flavor", TWO KINDS "wants j gpu=1 where=kind:b", "j: 1 gpu=fb"},
    {"whatever room the others have", TWO KINDS "runs r gpu=4 flavor=fb; wants j gpu=1 where=kind:b", "", "j", "fb"},
    {"a value that no flavor has", TWO KINDS "wants j gpu=1 where=kind:z", "", "j",
     "flavor fa doesn't match node affinity, flavor fb doesn't match node affinity"},
    {"a label that no flavor has says nothing about flavors: then no node has it", TWO KINDS "wants j gpu=1 where=disk:ssd", "", "j",
     "no node for flavor fa"},
    {"and picks the flavor whose nodes have it",
     TWO KINDS "node nd is=kind:b is=disk:ssd gpu=8; wants j gpu=1 where=disk:ssd", "j: 1 gpu=fb"},
    {"a flavor without labels is for all", NODES "queue q any.gpu=4 fb.gpu=4; flavor fb is=kind:b; wants j gpu=1 where=kind:b",
     "j: 1 gpu=any"},
    {"labels and taints together",
     TWO "flavor fa is=kind:a taint=spot; flavor fb is=kind:b; wants j gpu=1 where=kind:a; wants k gpu=1 where=kind:a tolerates=spot",
     "k: 1 gpu=fa", "j", "untolerated taint {spot} in flavor fa, flavor fb doesn't match node affinity"},

    /* ---- borrowing ---- */
    {"nobody lends without a cohort", NODES "queue q fa.gpu=2; queue other fa.gpu=4; wants j gpu=3", "", "j", "fa"},
    {"it borrows in the first that lends", LENT("") "wants j gpu=2; wants k gpu=2", "j: 1 gpu=fa; k: 1 gpu=fa"},
    {"borrow-last: its own in the next comes before", LENT("borrow-last") "wants j gpu=2; wants k gpu=2", "j: 1 gpu=fa; k: 1 gpu=fb"},
    {"and what is lent where there is no more of that", LENT("borrow-last") "wants j gpu=4", "j: 1 gpu=fa"},
    {"a lender's flavor, not another", LENT("borrow-last") "runs r gpu=6 flavor=fa; wants j gpu=3", "", "j", "fb"},
    {"as much as its limit", NODES "queue q in=c fa.gpu=2/1 fb.gpu=2; queue other in=c fa.gpu=4; wants j gpu=3", "j: 1 gpu=fa"},
    {"beyond it, the next", NODES "queue q in=c fa.gpu=2/1 fb.gpu=4; queue other in=c fa.gpu=4; wants j gpu=4", "j: 1 gpu=fb"},
    {"a limit of nothing", NODES "queue q in=c fa.gpu=2/0; queue other in=c fa.gpu=4; wants j gpu=3", "", "j", "fa"},
    {"as much as others lend", NODES "queue q in=c fa.gpu=2; queue other in=c fa.gpu=4/-/1; wants j gpu=3", "j: 1 gpu=fa"},
    {"and no more", NODES "queue q in=c fa.gpu=2; queue other in=c fa.gpu=4/-/1; wants j gpu=4", "", "j", "fa"},
    {"what the lender uses is not lent", LENT("") "runs r queue=other gpu=3 flavor=fa; wants j gpu=4 where=kind:a", "", "j", "fa"},
    {"a lender uses what it does not lend first",
     NODES "queue q in=c fa.gpu=2; queue other in=c fa.gpu=4/-/1; runs r queue=other gpu=3 flavor=fa; wants j gpu=3", "j: 1 gpu=fa"},
    {"what the cohort owns is everybody's", NODES "cohort c fa.gpu=3; queue q in=c fa.gpu=0; wants j gpu=3", "j: 1 gpu=fa"},
    {"and its cousins' through the root",
     NODES "cohort l in=root; cohort r in=root; queue q in=l fa.gpu=0; queue other in=r fa.gpu=3; wants j gpu=3", "j: 1 gpu=fa"},
    {"as far as the cohort may borrow",
     NODES "cohort l in=root fa.gpu=0/2; cohort r in=root; queue q in=l fa.gpu=0; queue other in=r fa.gpu=3; wants j gpu=3", "", "j", "fa"},
    {"and the other cohort lends",
     NODES "cohort l in=root; cohort r in=root fa.gpu=0/-/2; queue q in=l fa.gpu=0; queue other in=r fa.gpu=3; wants j gpu=3", "", "j", "fa"},
    {"borrow-last: from its own cohort before the root's",
     NODES "cohort l in=root fb.gpu=2; cohort root fa.gpu=2; queue q in=l fa.gpu=0 fb.gpu=0 borrow-last; wants j gpu=2", "j: 1 gpu=fb"},
    {"else in the order of flavors",
     NODES "cohort l in=root fb.gpu=2; cohort root fa.gpu=2; queue q in=l fa.gpu=0 fb.gpu=0; wants j gpu=2", "j: 1 gpu=fa"},

    /* ---- where somebody would have to go ---- */
    {"room in the next is better than to end somebody",
     NODES "queue q fa.gpu=4 fb.gpu=4 within=Lower; runs low gpu=4 flavor=fa; wants j prio=9 gpu=2", "j: 1 gpu=fb"},
    {"preempt-first: it ends him", NODES "queue q fa.gpu=4 fb.gpu=4 within=Lower preempt-first; runs low gpu=4 flavor=fa; wants j prio=9 gpu=2",
     "evict low InClusterQueue"},
    {"preempt-first, but nobody may go there",
     NODES "queue q fa.gpu=4 fb.gpu=4 within=Lower preempt-first; runs high prio=9 gpu=4 flavor=fa; wants j prio=9 gpu=2", "j: 1 gpu=fb"},
    {"to borrow in the next is better, too",
     NODES "queue q in=c fa.gpu=4 fb.gpu=0 within=Lower; queue other in=c fa.gpu=0 fb.gpu=4; runs low gpu=4 flavor=fa; wants j prio=9 gpu=2",
     "j: 1 gpu=fb"},
    {"borrow-last does not change that",
     NODES "queue q in=c fa.gpu=4 fb.gpu=0 within=Lower borrow-last; queue other in=c fa.gpu=0 fb.gpu=4; runs low gpu=4 flavor=fa;"
           "wants j prio=9 gpu=2",
     "j: 1 gpu=fb"},
    {"preempt-first does",
     NODES "queue q in=c fa.gpu=4 fb.gpu=0 within=Lower preempt-first; queue other in=c fa.gpu=0 fb.gpu=4; runs low gpu=4 flavor=fa;"
           "wants j prio=9 gpu=2",
     "evict low InClusterQueue"},
    {"to take back is better than to end one's own",
     NODES "queue q in=c fa.gpu=4 fb.gpu=4 within=Lower reclaim=Any; queue other in=c fa.gpu=0 fb.gpu=0; runs low gpu=4 flavor=fa;"
           "runs x queue=other gpu=4 flavor=fb; wants j prio=9 gpu=2",
     "evict x InCohortReclamation"},
    {"more than its own, and nobody may go for what is borrowed",
     NODES "queue q in=c fa.gpu=2 within=Lower reclaim=Any; queue other in=c fa.gpu=4; runs x queue=other gpu=6 flavor=fa; wants j prio=9 gpu=3",
     ""},
    {"nobody goes for flavors in which all of it fits: they are not looked for in that order",
     NODES "queue q in=c fa.gpu=0 fb.gpu=8/0 within=Lower borrow-last; queue other in=c fa.gpu=3 fb.gpu=0;" KINDS
           "runs high prio=9 gpu=3 flavor=fb; runs low gpu=1 flavor=fb; wants j prio=5 set=one gpu=3 set=two gpu=4 where=kind:b",
     ""},
    {"for two resources together somebody may go who may for neither alone",
     NODES "queue q in=c fa.gpu=2 fa.cpu=2 fb.gpu=0 fb.cpu=0 reclaim=Lower; queue other in=c fa.gpu=2 fa.cpu=2; queue third in=c fa.gpu=0 fa.cpu=0;"
           "runs low queue=other gpu=2 cpu=3 flavor=fa; runs high queue=third prio=9 gpu=1 flavor=fa; wants j prio=5 gpu=2 cpu=2",
     "evict low InCohortReclamation"},
    {"of two the one in which less is borrowed then",
     NODES "queue q in=c fa.gpu=0 fb.gpu=4 within=Lower borrow=Lower reclaim=Any borrow-last; queue other in=c fa.gpu=4 fb.gpu=0;"
           "runs x queue=other gpu=4 flavor=fa; runs y gpu=4 flavor=fb; wants j prio=9 gpu=4",
     "evict y InClusterQueue"},

    /* ---- several pod sets ---- */
    {"each set for itself", TWO KINDS "wants j set=one gpu=1 where=kind:a set=two x=3 gpu=1 where=kind:b", "j: 1 gpu=fa, 3 gpu=fb"},
    {"the second where the first leaves too little", TWO "wants j set=one gpu=2 set=two x=3 gpu=1", "j: 1 gpu=fa, 3 gpu=fb"},
    {"both in one", TWO "wants j set=one gpu=1 set=two x=3 gpu=1", "j: 1 gpu=fa, 3 gpu=fa"},
    {"all of them or none", TWO "wants j set=one gpu=4 set=two gpu=4 set=three gpu=1", "", "j", "set three"},
    {"a set may ask for what others do not",
     NODES "queue q fa.gpu=4 + fc.cpu=9; wants j set=one gpu=0 cpu=2 set=two x=4 gpu=1", "j: 1 cpu=fc, 4 gpu=fa"},
    {"one tolerates what the other does not",
     TWO "flavor fa taint=spot; wants j set=one gpu=1 set=two gpu=1 tolerates=spot", "j: 1 gpu=fb, 1 gpu=fa"},
    {"an earlier one makes room for a later one: it goes on in its search",
     NODES "queue q fa.gpu=5 fb.gpu=7 fc.gpu=6;" KINDS "wants j set=one gpu=6 set=two gpu=6 where=kind:b", "j: 1 gpu=fc, 1 gpu=fb"},
    {"but only forwards",
     NODES "queue q fb.gpu=6 fa.gpu=5;" KINDS "wants j set=one gpu=6 set=two gpu=6 where=kind:b", "", "j", "set two"},
    {"sets count together for what is borrowed",
     LENT("") "wants j set=one gpu=3 where=kind:a set=two gpu=4 where=kind:a", "", "j", "set two"},
    {"pods of a set that are over leave room for the other",
     ONE "wants j set=one x=4 over=2 gpu=1 set=two x=2 gpu=1", "j: 2 gpu=fa, 2 gpu=fa"},

    /* ---- quota is enough, nodes are not (Kueue would let it in) ---- */
    {"nodes of the first are too small",
     "node na is=kind:a gpu=2; node nb is=kind:b gpu=8; queue q fa.gpu=8 fb.gpu=8;" KINDS "wants j gpu=4", "j: 1 gpu=fb"},
    {"of all of them", "node na is=kind:a gpu=2; node nb is=kind:b gpu=3; queue q fa.gpu=8 fb.gpu=8;" KINDS "wants j gpu=4", "", "j", "no node"},
    {"room of many nodes is not room on one",
     "node n1 is=kind:a gpu=2; node n2 is=kind:a gpu=2; node nb is=kind:b gpu=4; queue q fa.gpu=8 fb.gpu=8;" KINDS "wants j gpu=4", "j: 1 gpu=fb"},
    {"one set goes where the other has left no room",
     "node na is=kind:a gpu=4; node nb is=kind:b gpu=3; queue q fa.gpu=8 fb.gpu=8;" KINDS "wants j set=one gpu=4 set=two gpu=3",
     "j: 1 gpu=fa, 1 gpu=fb"},
    {"nodes that are not ready have none",
     "node na is=kind:a notready; node nb is=kind:b; queue q fa.gpu=8 fb.gpu=8;" KINDS "wants j gpu=4", "j: 1 gpu=fb"},
};

static void each_is_given_as_it_says(void **state)
{
    (void)state;
    CHECK_TABLE(cases, victims_or_flavors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_is_given_as_it_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
