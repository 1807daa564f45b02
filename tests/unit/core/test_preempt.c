/* test_preempt.c - who is preempted for whom: one cycle each, objects in, decisions out (stories.h) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "stories.h"

struct preemption_case {
    const char *name, *objects, *decided;
};

/* Nodes have room for all that quota allows, but where a case says otherwise. */
#define ROOM "node n0 gpu=1000;"
#define TWO ROOM "queue q gpu=8 within=Lower;"
#define HIGH " high queue=q prio=9 gpu=4"
#define IN_QUEUE " InClusterQueue"

static const struct preemption_case cases[] = {
    /* ---- own queue ---- */
    {"never: nobody goes", ROOM "queue q gpu=8; runs low queue=q gpu=8; wants high queue=q prio=9 gpu=8", ""},
    {"lower priority goes", ROOM "queue q gpu=8 within=Lower; runs low queue=q gpu=8; wants high queue=q prio=9 gpu=8",
     "evict low InClusterQueue"},
    {"equal priority stays", ROOM "queue q gpu=8 within=Lower; runs same queue=q prio=9 gpu=8 at=9; wants high queue=q prio=9 gpu=8 at=5", ""},
    {"newer of equal priority goes where the policy says so",
     ROOM "queue q gpu=8 within=Newer; runs newer queue=q prio=9 gpu=8 at=9; wants older queue=q prio=9 gpu=8 at=5",
     "evict newer InClusterQueue"},
    {"older of equal priority stays", ROOM "queue q gpu=8 within=Newer; runs older queue=q gpu=8 at=5; wants newer queue=q gpu=8 at=9", ""},
    {"as few as are needed", ROOM "queue q gpu=8 within=Lower; runs a queue=q gpu=4; runs b queue=q gpu=4; wants high queue=q prio=9 gpu=4",
     "evict a InClusterQueue"},
    {"lower priority first",
     ROOM "queue q gpu=8 within=Lower; runs a queue=q prio=2 gpu=4; runs b queue=q prio=1 gpu=4; wants high queue=q prio=9 gpu=4",
     "evict b InClusterQueue"},
    {"then who was let in last",
     ROOM "queue q gpu=8 within=Lower; runs a queue=q gpu=4 since=9; runs b queue=q gpu=4 since=5; wants high queue=q prio=9 gpu=4",
     "evict a InClusterQueue"},
    {"priority before the time",
     ROOM "queue q gpu=8 within=Lower; runs a queue=q prio=1 gpu=4 since=9; runs b queue=q gpu=4 since=5; wants high queue=q prio=9 gpu=4",
     "evict b InClusterQueue"},
    {"what is free counts", ROOM "queue q gpu=8 within=Lower; runs a queue=q gpu=3; runs b queue=q gpu=3; wants high queue=q prio=9 gpu=5",
     "evict a InClusterQueue"},
    {"nobody goes when all of them are not enough",
     ROOM "queue q gpu=8 within=Lower; runs a queue=q gpu=4; runs b queue=q prio=9 gpu=4; wants high queue=q prio=9 gpu=8", ""},
    {"who was not needed after all is put back",
     ROOM "queue q gpu=8 within=Lower; runs small queue=q gpu=2; runs large queue=q prio=1 gpu=6; wants high queue=q prio=9 gpu=6",
     "evict large InClusterQueue"},
    {"put back from the last but one on",
     ROOM "queue q gpu=8 within=Lower; runs a queue=q prio=0 gpu=1; runs b queue=q prio=1 gpu=2; runs c queue=q prio=2 gpu=5;"
          "wants high queue=q prio=9 gpu=6",
     "evict a InClusterQueue; evict c InClusterQueue"},
    {"only what is short counts",
     ROOM "queue q gpu=8 cpu=100 within=Lower; runs gpus queue=q prio=1 gpu=8 cpu=1; runs cpus queue=q gpu=0 cpu=50;"
          "wants high queue=q prio=9 gpu=8 cpu=10",
     "evict gpus InClusterQueue"},
    {"more than the queue could ever have", ROOM "queue q gpu=8 within=Lower; runs a queue=q gpu=8; wants high queue=q prio=9 gpu=9", ""},
    {"who leaves already is taken first, and not told again",
     ROOM "queue q gpu=8 within=Lower; runs a queue=q gpu=4; runs b queue=q prio=5 gpu=4 leaving; wants high queue=q prio=9 gpu=4", ""},
    {"and others with it",
     ROOM "queue q gpu=8 within=Lower; runs a queue=q gpu=4; runs b queue=q prio=5 gpu=4 leaving; wants high queue=q prio=9 gpu=8",
     "evict a InClusterQueue"},

    /* ---- among equals: it is 1000 s ---- */
    {"of equals who has saved later what he did", TWO "runs a queue=q gpu=4 since=900; runs b queue=q gpu=4 since=5 saved=950; wants" HIGH,
     "evict b" IN_QUEUE},
    {"not who will", TWO "runs a queue=q gpu=4 since=900; runs b queue=q gpu=4 since=5 saved=1200; wants" HIGH, "evict a" IN_QUEUE},
    {"nor who did before he was let in", TWO "runs a queue=q gpu=4 since=900; runs b queue=q gpu=4 since=800 saved=700; wants" HIGH,
     "evict a" IN_QUEUE},
    {"lower priority goes before that",
     TWO "runs a queue=q gpu=4 since=900; runs b queue=q gpu=4 prio=1 since=5 saved=990; wants" HIGH, "evict a" IN_QUEUE},
    {"who has not run as long as he should goes last",
     TWO "runs a queue=q gpu=4 since=900 least=101; runs b queue=q gpu=4 since=5; wants" HIGH,
     "evict b" IN_QUEUE},
    {"once he has he does not",
     TWO "runs a queue=q gpu=4 since=900 least=99; runs b queue=q gpu=4 since=5; wants" HIGH, "evict a" IN_QUEUE},
    {"lower priority goes before that, too",
     TWO "runs a queue=q gpu=4 since=900 least=500; runs b queue=q gpu=4 prio=1 since=5; wants" HIGH, "evict a" IN_QUEUE},
    {"he goes where nobody else is enough",
     TWO "runs a queue=q gpu=6 since=900 least=500; runs b queue=q gpu=2 since=5; wants high queue=q prio=9 gpu=6", "evict a" IN_QUEUE},
    {"what he saved does not help him to go before",
     TWO "runs a queue=q gpu=4 since=900 least=500 saved=990; runs b queue=q gpu=4 since=5; wants" HIGH, "evict b" IN_QUEUE},
    {"who waits for admission checks has not begun",
     ROOM "queue q gpu=8 within=Lower check=c; runs a queue=q gpu=4 since=900 least=500 reserved;"
          "runs b queue=q gpu=4 since=5; wants" HIGH,
     "evict a" IN_QUEUE},
    {"and begins when he is admitted",
     ROOM "queue q gpu=8 within=Lower check=c; runs a queue=q gpu=4 since=300 least=500 began=700;"
          "runs b queue=q gpu=4 since=5; wants" HIGH,
     "evict b" IN_QUEUE},
    {"whose pods a budget protects goes last",
     TWO "budget p app=db allowed=0; runs a queue=q gpu=4 since=9 app=db on=n0; runs b queue=q gpu=4 since=5;"
         " wants" HIGH, "evict b" IN_QUEUE},
    {"a budget that allows it",
     TWO "budget p app=db allowed=1; runs a queue=q gpu=4 since=9 app=db on=n0; runs b queue=q gpu=4 since=5; wants" HIGH,
     "evict a" IN_QUEUE},
    {"a budget before a minimum run",
     TWO "budget p app=db allowed=0; runs a queue=q gpu=4 since=9 app=db on=n0; runs b queue=q gpu=4 since=900 least=500; wants" HIGH,
     "evict b" IN_QUEUE},
    {"lower priority before a budget",
     TWO "budget p app=db allowed=0; runs a queue=q gpu=4 since=9 app=db on=n0; runs b queue=q prio=1 gpu=4 since=5; wants" HIGH,
     "evict a" IN_QUEUE},
    {"a budget allows the first, not the next",
     TWO "budget p app=db allowed=1; runs a,b queue=q gpu=2 since=9 app=db on=n0; runs c,d queue=q gpu=2 since=5; wants" HIGH,
     "evict a" IN_QUEUE "; evict c" IN_QUEUE},
    {"a budget of other pods",
     TWO "budget p app=web allowed=0; runs a queue=q gpu=4 since=9 app=db on=n0; runs b queue=q gpu=4 since=5; wants" HIGH,
     "evict a" IN_QUEUE},
    {"of those let in at once whose pods end sooner",
     TWO "runs a queue=q gpu=4 since=5 grace=60; runs b queue=q gpu=4 since=5; wants" HIGH, "evict b" IN_QUEUE},
    {"not of others", TWO "runs a queue=q gpu=4 since=6 grace=60; runs b queue=q gpu=4 since=5; wants" HIGH, "evict a" IN_QUEUE},
    {"not for more than by Kueue's order: two lose 500 s, one 400",
     TWO "runs a queue=q gpu=4 since=600; runs b,c queue=q gpu=2 since=5 saved=750; wants" HIGH, "evict a" IN_QUEUE},
    {"for less: two lose 200 s, one 400", TWO "runs a queue=q gpu=4 since=600; runs b,c queue=q gpu=2 since=5 saved=900; wants" HIGH,
     "evict b" IN_QUEUE "; evict c" IN_QUEUE},
    {"each pod counts", TWO "runs a queue=q gpu=4 since=600; runs b queue=q gpu=1 x=4 since=5 saved=850; wants" HIGH, "evict a" IN_QUEUE},
    {"another queue goes before one's own all the same",
     ROOM "queue own in=c gpu=8 within=Lower reclaim=Any; queue other in=c gpu=0; runs x queue=other gpu=4 since=900 least=500;"
          "runs y queue=own gpu=4 since=5 saved=999; wants high queue=own prio=9 gpu=4",
     "evict x InCohortReclamation"},
    {"of two other queues the one that has saved",
     ROOM "queue own in=c gpu=8 reclaim=Any; queue one in=c gpu=0; queue two in=c gpu=0; runs x queue=one gpu=4 since=900;"
          "runs y queue=two gpu=4 since=5 saved=999; wants mine queue=own gpu=4",
     "evict y InCohortReclamation"},

    /* ---- who starts, where he would be the next to go ---- */
    {"who would borrow waits while his lender, who takes it back, has more to start",
     ROOM "queue own in=c gpu=8 reclaim=Any; queue other in=c gpu=0; wants b queue=other prio=9 gpu=4; wants a queue=own gpu=4;"
          "wants c queue=own gpu=4",
     "start a; start c"},
    {"and starts once he has not",
     ROOM "queue own in=c gpu=9 reclaim=Any; queue other in=c gpu=0; wants b queue=other prio=9 gpu=1; wants a queue=own gpu=4;"
          "wants c queue=own gpu=4",
     "start a; start c; start b"},
    {"who takes nothing back keeps nobody waiting",
     ROOM "queue own in=c gpu=8; queue other in=c gpu=0; wants b queue=other prio=9 gpu=4; wants a queue=own gpu=4;"
          "wants c queue=own gpu=4",
     "start a; start b"},
    {"nor who has no more to start",
     ROOM "queue own in=c gpu=8 reclaim=Any; queue other in=c gpu=0; wants b queue=other prio=9 gpu=4; wants a queue=own gpu=4",
     "start a; start b"},

    /* ---- one flat cohort ---- */
    {"reclaim never", ROOM "queue own in=c gpu=8; queue other in=c gpu=0; runs x queue=other gpu=8; wants mine queue=own gpu=8", ""},
    {"reclaim what was borrowed, whatever its priority",
     ROOM "queue own in=c gpu=8 reclaim=Any; queue other in=c gpu=0; runs x queue=other prio=99 gpu=8; wants mine queue=own gpu=8",
     "evict x InCohortReclamation"},
    {"reclaim from lower priority only",
     ROOM "queue own in=c gpu=8 reclaim=Lower; queue other in=c gpu=0; runs x queue=other prio=9 gpu=4; runs y queue=other gpu=4;"
          "wants mine queue=own prio=5 gpu=4",
     "evict y InCohortReclamation"},
    {"equal priority is not lower",
     ROOM "queue own in=c gpu=8 reclaim=Lower; queue other in=c gpu=0; runs x queue=other gpu=8; wants mine queue=own gpu=8", ""},
    {"who is within his own quota stays",
     ROOM "queue own in=c gpu=8 reclaim=Any; queue a in=c gpu=4; queue b in=c gpu=4; runs x queue=a gpu=4; runs y queue=b gpu=12;"
          "wants mine queue=own gpu=8",
     "evict y InCohortReclamation"},
    {"only down to what is his own",
     ROOM "queue own in=c gpu=8 reclaim=Any; queue other in=c gpu=4; runs a queue=other gpu=4 since=1; runs b queue=other gpu=4 since=2;"
          "runs d queue=other gpu=4 since=3; wants mine queue=own gpu=8",
     "evict d InCohortReclamation; evict b InCohortReclamation"},
    {"others before the own queue",
     ROOM "queue own in=c gpu=8 reclaim=Any within=Lower; queue other in=c gpu=0; runs x queue=other prio=5 gpu=4; runs l queue=own gpu=4;"
          "wants mine queue=own prio=9 gpu=4",
     "evict x InCohortReclamation"},
    {"the own queue where others are not enough",
     ROOM "queue own in=c gpu=8 reclaim=Any within=Lower; queue other in=c gpu=0; runs x queue=other prio=5 gpu=4; runs l queue=own gpu=4;"
          "wants mine queue=own prio=9 gpu=8",
     "evict x InCohortReclamation; evict l InClusterQueue"},
    {"who would borrow himself takes nothing back",
     ROOM "queue own in=c gpu=4 reclaim=Any; queue other in=c gpu=4; runs x queue=other gpu=8; wants mine queue=own prio=9 gpu=8", ""},
    {"unless it may preempt while it borrows",
     ROOM "queue own in=c gpu=4 reclaim=Any borrow=Lower; queue other in=c gpu=4; runs x queue=other gpu=8; wants mine queue=own prio=9 gpu=8",
     "evict x InCohortReclaimWhileBorrowing"},
    {"lower priority only, then",
     ROOM "queue own in=c gpu=4 reclaim=Any borrow=Lower; queue other in=c gpu=4; runs x queue=other prio=9 gpu=8;"
          "wants mine queue=own prio=9 gpu=8",
     ""},
    {"above the threshold it stays",
     ROOM "queue own in=c gpu=4 reclaim=Any borrow=Lower max=3; queue other in=c gpu=4; runs x queue=other prio=4 gpu=8;"
          "wants mine queue=own prio=9 gpu=8",
     ""},
    {"at the threshold it goes",
     ROOM "queue own in=c gpu=4 reclaim=Any borrow=Lower max=3; queue other in=c gpu=4; runs x queue=other prio=3 gpu=8;"
          "wants mine queue=own prio=9 gpu=8",
     "evict x InCohortReclaimWhileBorrowing"},
    {"above the threshold it goes when the preemptor does not borrow",
     ROOM "queue own in=c gpu=8 reclaim=Any borrow=Lower max=3; queue other in=c gpu=0; runs x queue=other prio=4 gpu=8;"
          "wants mine queue=own prio=9 gpu=8",
     "evict x InCohortReclamation"},
    {"nobody goes for who would borrow what they take back at once",
     ROOM "queue own in=c gpu=0 reclaim=Any borrow=Lower; queue lends in=c gpu=9; queue other in=c gpu=5 reclaim=Any;"
          "runs x queue=other gpu=5; runs y queue=other gpu=6; wants mine queue=own prio=9 gpu=10",
     ""},
    {"but where their queue takes nothing back",
     ROOM "queue own in=c gpu=0 reclaim=Any borrow=Lower; queue lends in=c gpu=9; queue other in=c gpu=5;"
          "runs x queue=other gpu=5; runs y queue=other gpu=6; wants mine queue=own prio=9 gpu=10",
     "evict x InCohortReclaimWhileBorrowing; evict y InCohortReclaimWhileBorrowing"},
    {"or they have no room in what is its own",
     ROOM "queue own in=c gpu=0 reclaim=Any borrow=Lower; queue lends in=c gpu=9; queue other in=c gpu=4 reclaim=Any;"
          "runs x queue=other gpu=5; runs y queue=other gpu=6; wants mine queue=own prio=9 gpu=10",
     "evict x InCohortReclaimWhileBorrowing; evict y InCohortReclaimWhileBorrowing"},
    {"within the own queue while borrowing",
     ROOM "queue own in=c gpu=4 within=Lower reclaim=Any; queue other in=c gpu=4; runs low queue=own gpu=8; wants high queue=own prio=9 gpu=8",
     ""},
    {"and while borrowing where that is allowed",
     ROOM "queue own in=c gpu=4 within=Lower reclaim=Any borrow=Lower; queue other in=c gpu=4; runs low queue=own gpu=8;"
          "wants high queue=own prio=9 gpu=8",
     "evict low InClusterQueue"},
    {"beyond the borrowing limit nobody helps",
     ROOM "queue own in=c gpu=4/2 reclaim=Any borrow=Lower; queue other in=c gpu=8; runs x queue=other gpu=8; wants mine queue=own prio=9 gpu=8",
     ""},
    {"what is kept from lending is not to be had",
     ROOM "queue own in=c gpu=4 reclaim=Any borrow=Lower; queue other in=c gpu=4/-/0; runs x queue=other gpu=4; wants mine queue=own prio=9 gpu=8",
     ""},
    {"the queue that borrows most is not asked first: priority is",
     ROOM "queue own in=c gpu=8 reclaim=Any; queue a in=c gpu=0; queue b in=c gpu=0; runs x queue=a prio=1 gpu=6; runs y queue=b gpu=2;"
          "wants mine queue=own gpu=2",
     "evict y InCohortReclamation"},

    /* ---- hierarchies: left and right below root ---- */
    {"a cousin that borrowed across the root",
     ROOM "cohort root; cohort left in=root; cohort right in=root; queue a in=left gpu=8 reclaim=Any; queue b in=right gpu=0;"
          "runs x queue=b prio=9 gpu=8; wants mine queue=a gpu=8",
     "evict x InCohortReclamation"},
    {"a cohort within its own quota is left alone",
     ROOM "cohort root; cohort left in=root; cohort right in=root; queue a in=left gpu=8 reclaim=Any; queue a2 in=left gpu=0;"
          "queue b in=right gpu=0; queue b2 in=right gpu=8; runs x queue=b gpu=8; runs y queue=a2 prio=5 gpu=8; wants mine queue=a gpu=8",
     "evict y InCohortReclamation"},
    {"quota of the cohort itself is reclaimed by who is below it",
     ROOM "cohort root; cohort left in=root gpu=8; cohort right in=root; queue a in=left gpu=0 reclaim=Any; queue b in=right gpu=0;"
          "runs x queue=b prio=9 gpu=8; wants mine queue=a gpu=8",
     "evict x InCohortReclamation"},
    {"without the advantage priority decides, and only who does not borrow takes back",
     ROOM "cohort root; cohort left in=root; cohort right in=root; queue a in=left gpu=0 reclaim=Any; queue b in=right gpu=8;"
          "runs x queue=b gpu=8; wants mine queue=a prio=9 gpu=8",
     ""},
    {"those across the root before those of the own cohort when only they are taken with the advantage",
     ROOM "cohort root; cohort left in=root gpu=4; cohort right in=root; queue a in=left gpu=0 reclaim=Any borrow=Lower; queue a2 in=left gpu=0;"
          "queue b in=right gpu=0; runs x queue=b prio=5 gpu=2; runs y queue=a2 gpu=2; wants mine queue=a prio=9 gpu=2",
     "evict x InCohortReclamation"},

    /* ---- flavors ---- */
    {"a flavor that fits is better than one that preempts",
     ROOM "queue q fa.gpu=8 fb.gpu=8 within=Lower; runs low queue=q gpu=8 flavor=fa; wants high queue=q prio=9 gpu=8", "start high"},
    {"but not where the queue says to preempt first",
     ROOM "queue q fa.gpu=8 fb.gpu=8 within=Lower preempt-first; runs low queue=q gpu=8 flavor=fa; wants high queue=q prio=9 gpu=8",
     "evict low InClusterQueue"},
    {"the first of two in which it may preempt",
     ROOM "queue q fa.gpu=8 fb.gpu=8 within=Lower; runs a queue=q gpu=8 flavor=fa; runs b queue=q gpu=8 flavor=fb;"
          "wants high queue=q prio=9 gpu=8",
     "evict a InClusterQueue"},
    {"the one of two in which there is somebody to go",
     ROOM "queue q fa.gpu=8 fb.gpu=8 within=Lower; runs a queue=q prio=9 gpu=8 flavor=fa; runs b queue=q gpu=8 flavor=fb;"
          "wants high queue=q prio=9 gpu=8",
     "evict b InClusterQueue"},
    {"taking back is better than ending one's own",
     ROOM "queue q in=c fa.gpu=8 fb.gpu=8 within=Lower reclaim=Any; queue other in=c fa.gpu=0 fb.gpu=0; runs a queue=q gpu=8 flavor=fa;"
          "runs b queue=other prio=9 gpu=8 flavor=fb; wants high queue=q prio=9 gpu=8",
     "evict b InCohortReclamation"},
    {"borrowing is better than ending one's own",
     ROOM "queue q in=c fa.gpu=4 fb.gpu=0 within=Lower; queue other in=c fa.gpu=0 fb.gpu=8; runs low queue=q gpu=4 flavor=fa;"
          "wants high queue=q prio=9 gpu=4",
     "start high"},
    {"but not where the queue prefers preemption",
     ROOM "queue q in=c fa.gpu=4 fb.gpu=0 within=Lower level-first; queue other in=c fa.gpu=0 fb.gpu=8; runs low queue=q gpu=4 flavor=fa;"
          "wants high queue=q prio=9 gpu=4",
     "evict low InClusterQueue"},
    {"nor where what fits as it stands borrows as much",
     ROOM "queue q in=c fa.gpu=4 fb.gpu=4 within=Lower level-first; runs low queue=q gpu=4 flavor=fa; wants high queue=q prio=9 gpu=4",
     "start high"},
    {"it borrows where nobody can go",
     ROOM "queue q in=c fa.gpu=4 fb.gpu=0 within=Lower level-first; queue other in=c fa.gpu=0 fb.gpu=8; runs same queue=q prio=9 gpu=4 flavor=fa;"
          "wants high queue=q prio=9 gpu=4",
     "start high"},
    {"where two resources differ the one that borrows more counts",
     ROOM "queue q in=c fa.gpu=4 fa.cpu=0 fb.gpu=0 fb.cpu=8 within=Lower borrow=Lower reclaim=Any level-first;"
          "queue other in=c fa.gpu=0 fa.cpu=8 fb.gpu=8 fb.cpu=0; runs low queue=q gpu=4 flavor=fa; wants high queue=q prio=9 gpu=4 cpu=4",
     "evict low InClusterQueue"},

    /* ---- nodes: quota is not all ---- */
    {"who makes room on one node, not the first in order",
     "node n0 gpu=8; node n1 gpu=8; queue q gpu=12 within=Lower; runs a queue=q gpu=4 since=9 on=n0; runs b queue=q prio=9 gpu=4 on=n0;"
     "runs d queue=q gpu=4 since=5 on=n1; wants high queue=q prio=9 gpu=8",
     "evict a InClusterQueue; evict d InClusterQueue"},
    {"nobody goes where the end of all would not make room",
     "node n0 gpu=4; node n1 gpu=4; queue q gpu=8 within=Lower; runs a queue=q gpu=4 on=n0; runs b queue=q gpu=4 on=n1;"
     "wants high queue=q prio=9 gpu=8",
     ""},
    {"quota is enough, nodes are not",
     "node n0 gpu=8; queue q gpu=100 within=Lower; runs a queue=q gpu=4 on=n0; runs b queue=q gpu=4 since=9 on=n0;"
     "wants high queue=q prio=9 gpu=4",
     "evict b InClusterQueue"},
    {"nodes are short: who uses nothing that its queue borrowed stays",
     "node n0 gpu=4; queue own in=c gpu=4 cpu=100 reclaim=Lower borrow=Lower; queue other in=c gpu=4 cpu=0; runs a queue=other gpu=4 on=n0;"
     "runs b queue=other gpu=0 cpu=50 on=n0; wants mine queue=own prio=9 gpu=4 cpu=10",
     ""},
    {"nodes are short: who uses what its queue borrowed goes",
     "node n0 gpu=4; queue own in=c gpu=4 cpu=100 reclaim=Lower borrow=Lower; queue other in=c gpu=3 cpu=0; runs a queue=other gpu=4 on=n0;"
     "runs b queue=other gpu=0 cpu=50 on=n0; queue third in=c gpu=4; wants mine queue=own prio=9 gpu=4 cpu=10",
     "evict a InCohortReclamation"},
    {"a gang of several: whole nodes, and nobody beside them",
     "node n0 gpu=4; node n1 gpu=4; node n2 gpu=4; queue q gpu=12 within=Lower; runs a queue=q gpu=1 x=4 on=n0; runs b queue=q gpu=2 x=2 on=n1;"
     "runs d queue=q prio=9 gpu=4 on=n2; wants high queue=q prio=9 gpu=4 x=2",
     "evict a InClusterQueue; evict b InClusterQueue"},
    /* ---- quota counts what the pods do not ask for ---- */
    {"others go for what is counted", ROOM "queue q gpu=8 within=Lower; runs low queue=q gpu=4; wants high queue=q prio=9 gpu=8 charged",
     "evict low InClusterQueue"},
    {"more than there is is more than there is", ROOM "queue q gpu=8 within=Lower; wants high queue=q gpu=9 charged", ""},
    {"a strict head claims what is counted",
     ROOM "queue own in=c gpu=8 strict; queue other in=c gpu=0; runs x queue=other gpu=4; wants head queue=own gpu=8 charged at=1;"
          "wants late queue=other gpu=4 at=2",
     ""},
};

static void each_case_decides_as_it_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w = world_new();
        story(&w, cases[i].objects);
        step(&w);
        if (strcmp(decided(&w), cases[i].decided) != 0)
            fail_msg("%s: decided \"%s\", expected \"%s\"", cases[i].name, decided(&w), cases[i].decided);
        world_free(&w);
    }
}

/* More candidates than are sorted at once, in no order, some of one priority: the lowest go, of equals the last admitted, then by uid. */
static void the_first_of_many_go(void **state)
{
    (void)state;
    enum { MANY = 700 };
    for (int wanted = 1; wanted < MANY; wanted += 61) {
        struct world w = world_new();
        char line[128];
        story(&w, "queue q gpu=700 within=Lower");
        for (int i = 0; i < MANY / 7; i++) {
            snprintf(line, sizeof line, "node n%d gpu=7", i);
            story(&w, line);
        }
        for (int i = 0; i < MANY; i++) {
            int rank = i * 419 % MANY;
            snprintf(line, sizeof line, "runs g%03d queue=q prio=%d gpu=1 since=%d", rank, rank / 7, MANY - rank / 2);
            story(&w, line);
        }
        snprintf(line, sizeof line, "wants high queue=q prio=1000 gpu=1 x=%d", wanted);
        story(&w, line);
        step(&w);
        assert_int_equal(effects(&w, EFFECT_EVICT), wanted);
        for (int i = 0; i < MANY; i++) {
            char name[16];
            snprintf(name, sizeof name, "g%03d", i);
            if ((entry_of(&w, EFFECT_EVICT, name) != NULL) != (i < wanted))
                fail_msg("%d wanted: %s %s", wanted, name, i < wanted ? "stays" : "goes");
        }
        world_free(&w);
    }
}

/* Both sides of a choice among equals are named, as long as anybody of those who go is there. */
static void who_is_spared_is_told(void **state)
{
    static const struct {
        const char *objects, *says;
    } told[] = {
        {"runs a queue=q gpu=4 since=900; runs b,c queue=q gpu=2 since=5 saved=960", "ns/a stays instead: less run time is lost"},
        {"runs a queue=q gpu=4 since=900 least=500; runs b,c queue=q gpu=2 since=5",
         "ns/a stays instead: fewer jobs end before their capstan.dev/minimum-run-seconds"},
        {"budget p app=db allowed=0; runs a queue=q gpu=4 since=9 app=db on=n0; runs b,c queue=q gpu=2 since=5",
         "ns/a stays instead: fewer pods go against a PodDisruptionBudget"},
        {"runs a queue=q gpu=2 x=2 since=5 grace=60; runs b,c queue=q gpu=2 since=5", "ns/a stays instead: their pods end sooner"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        struct world w = world_new();
        story(&w, TWO);
        story(&w, told[i].objects);
        story(&w, "wants high queue=q prio=9 gpu=4");
        step(&w);
        if (!strstr(why_tree(&w, "high"), told[i].says))
            fail_msg("\"%s\" is not said in\n%s", told[i].says, why_tree(&w, "high"));
        assert_int_equal(reason_find(entry_of(&w, EFFECT_EVICT, "c")->reason, REASON_SPARED)->name, id(&w, "a"));
        outcome(&w, EFFECT_EVICT, "b", NULL, OUTCOME_DONE);
        gone(&w, CHANGE_GANG_GONE, "b");
        step(&w);
        sweep_names(&w);
        if (!strstr(why_tree(&w, "high"), told[i].says))
            fail_msg("\"%s\" is not said any more in\n%s", told[i].says, why_tree(&w, "high"));
        world_free(&w);
    }
}

/* But nobody who has ended meanwhile. */
static void who_has_ended_does_not_stay(void **state)
{
    struct world w = world_new();
    (void)state;
    story(&w, ROOM "queue q gpu=8 within=Lower; runs a queue=q gpu=1 since=900; runs b,c queue=q gpu=2 since=5 saved=960;"
                   "runs d queue=q prio=9 gpu=3; wants high queue=q prio=9 gpu=3");
    step(&w);
    assert_string_equal(decided(&w), "evict b" IN_QUEUE "; evict c" IN_QUEUE);
    assert_non_null(strstr(why_tree(&w, "high"), "ns/a stays instead: less run time is lost"));
    gone(&w, CHANGE_GANG_GONE, "a");
    step(&w);
    sweep_names(&w);
    story(&w, "runs z queue=q prio=9 gpu=1");
    step(&w);
    assert_non_null(strstr(why_tree(&w, "high"), "pending the preemption of 2 workload(s)"));
    assert_null(strstr(why_tree(&w, "high"), "stays instead"));
    world_free(&w);
}

/* All 64 of a queue have to go, and putting each of them back is tried on its node. The first searches of 45 queues fit into the trials of
 * a cycle, first and second ones together do not; their minimum run brings about second ones everywhere. */
static void second_searches_take_no_trials_of_first_ones(void **state)
{
    enum { QUEUES = 45, VICTIMS = 64 };
    struct world w = world_new();
    char line[160];
    (void)state;
    for (int q = 0; q < QUEUES; q++) {
        snprintf(line, sizeof line, "node n%d gpu=%d; queue q%d gpu=1000 within=Lower", q, VICTIMS, q);
        story(&w, line);
        for (int i = 0; i < VICTIMS; i++) {
            snprintf(line, sizeof line, "runs g%d-%d queue=q%d gpu=1 since=900 least=500 on=n%d", q, i, q, q);
            story(&w, line);
        }
        snprintf(line, sizeof line, "wants high%d queue=q%d prio=9 gpu=%d", q, q, VICTIMS);
        story(&w, line);
    }
    step(&w);
    assert_int_equal(effects(&w, EFFECT_EVICT), QUEUES * VICTIMS);
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_decides_as_it_says),
        cmocka_unit_test(who_is_spared_is_told),
        cmocka_unit_test(who_has_ended_does_not_stay),
        cmocka_unit_test(the_first_of_many_go),
        cmocka_unit_test(second_searches_take_no_trials_of_first_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
