/* test_fair.c - fair sharing: who is preempted for whom, and who of several heads is next: one cycle each, objects in, decisions out
 * (stories.h). What Kueue decides on the same clusters, but where a case says that we do otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../stories.h"
#include "core/queue/standing.h"
#include "core/quota/share.h"
#include "core/state/model.h"

enum strategies { BOTH, FINAL_ONLY, INITIAL_ONLY };
struct fair_case {
    const char *name, *objects, *decided;
    enum strategies strategies;
};

#define ROOM "node n0 gpu=1000;"
/* Three queues with 30 each, and one that only borrows. borrowWithinCohort means nothing by shares. */
#define POLICIES "within=Lower reclaim=Any borrow=Lower max=-3;"
#define THREE ROOM "queue a in=all gpu=30 " POLICIES "queue b in=all gpu=30 " POLICIES "queue c in=all gpu=30 " POLICIES "queue low in=all gpu=0;"
#define TEN_OF_A "runs a1,a2,a3 queue=a gpu=10;"

static const struct fair_case preemptions[] = {
    /* ---- three queues ---- */
    {"who uses most gives back what is another's own",
     THREE TEN_OF_A "runs b1,b2,b3,b4,b5 queue=b gpu=10; runs c1 queue=c gpu=10; wants mine queue=c gpu=10", "evict b1 InCohortReclamation"},
    {"who was let in last by who uses most is not enough: somebody of who uses less",
     THREE "runs a1 queue=a gpu=30; runs a2 queue=a gpu=10; runs b1 queue=b gpu=20; runs b2 queue=b gpu=30; wants mine queue=c gpu=30",
     "evict a1 InCohortReclamation"},
    {"who uses most gives up what anybody could borrow",
     THREE TEN_OF_A "runs b1,b2,b3,b4,b5 queue=b gpu=10; runs c1 queue=c gpu=10; wants mine queue=a gpu=10", "evict b1 InCohortFairSharing"},
    {"one of each that borrows",
     THREE "runs a1,a2 queue=a gpu=5; runs a3 queue=a gpu=30; runs b1,b2 queue=b gpu=5; runs b3 queue=b gpu=30; wants mine queue=c gpu=20",
     "evict a1 InCohortReclamation; evict b1 InCohortReclamation"},
    {"nobody borrows, nobody goes",
     THREE TEN_OF_A "runs b1,b2,b3 queue=b gpu=10; runs c1,c2,c3 queue=c gpu=10; wants mine queue=c gpu=10", ""},
    {"nobody goes where only the sides would change", THREE TEN_OF_A "runs b1,b2,b3,b4,b5 queue=b gpu=10; wants mine queue=a gpu=20", ""},
    {"lower priority of the own queue, which has the highest share",
     THREE "runs l1,l2 queue=a prio=-1 gpu=10; runs a3,a4 queue=a gpu=10; runs b1,b2,b3,b4,b5 queue=b gpu=10; wants mine queue=a gpu=20",
     "evict l1 InClusterQueue; evict l2 InClusterQueue"},
    {"some of the own queue and some of who uses most",
     THREE "runs l1 queue=a prio=-1 gpu=10; runs a2,a3 queue=a gpu=10; runs b1,b2,b3,b4,b5,b6 queue=b gpu=10; wants mine queue=a gpu=20",
     "evict b1 InCohortFairSharing; evict l1 InClusterQueue"},
    {"a large one for a small one that is within its own",
     THREE "runs b1 queue=b gpu=90; wants mine queue=a gpu=20", "evict b1 InCohortReclamation"},
    {"no large one for a large one", THREE "runs a1 queue=a gpu=20; runs b1 queue=b gpu=70; wants mine queue=a gpu=50", ""},
    {"nor two smaller ones", THREE "runs b1,b2 queue=b gpu=20; runs b3 queue=b gpu=30; wants mine queue=a gpu=60", ""},
    {"of the own queue and of another, which then are above their own",
     THREE "runs a1 queue=a prio=-1 gpu=20; runs a2 queue=a prio=-1 gpu=10; runs b1,b2 queue=b gpu=30; wants mine queue=a gpu=40",
     "evict a1 InClusterQueue; evict b1 InCohortFairSharing"},
    {"whose end leaves the other's share no lower than the own will be, first",
     THREE "runs b1 queue=b gpu=20; runs b2 queue=b gpu=10; runs b3 queue=b gpu=20; runs c1 queue=c gpu=10; wants mine queue=a gpu=35",
     "evict b2 InCohortFairSharing"},
    {"of two queues where the highest share is lower then",
     THREE "runs b1 queue=b gpu=20; runs b2 queue=b gpu=25; runs c1 queue=c gpu=20; runs c2 queue=c gpu=25; wants mine queue=a gpu=35",
     "evict b1 InCohortFairSharing; evict c1 InCohortFairSharing"},
    {"and those are not taken back",
     THREE "runs a1 queue=a gpu=35; runs b2 queue=b gpu=25; runs c2 queue=c gpu=25; wants mine queue=b gpu=20", ""},
    {"nobody goes whose queue would come down to less than its own",
     THREE "runs b1,b2 queue=b gpu=30; runs c1 queue=c gpu=30; wants mine queue=a gpu=40", ""},
    {"low priority alone is no reason, whatever borrowWithinCohort says",
     THREE TEN_OF_A "runs b1,b2,b3 queue=b gpu=10; runs p1,p2,p3 queue=low prio=-3 gpu=10; wants mine queue=a gpu=20", ""},
    {"initial share alone: lower priority first, even if large",
     THREE "runs a1 queue=a gpu=30; runs bl queue=b gpu=50; runs bh queue=b prio=1 gpu=10; wants mine queue=a gpu=10",
     "evict bl InCohortFairSharing", INITIAL_ONLY},
    {"final share alone: who does not turn the sides, even of high priority",
     THREE "runs a1 queue=a gpu=30; runs bl queue=b gpu=50; runs bh queue=b prio=1 gpu=10; wants mine queue=a gpu=10",
     "evict bh InCohortFairSharing", FINAL_ONLY},
    {"initial share alone: not where the shares are equal then",
     THREE TEN_OF_A "runs b1,b2,b3,b4 queue=b gpu=10; runs c1,c2 queue=c gpu=10; wants mine queue=a gpu=10", "", INITIAL_ONLY},
    {"both: the large one where nobody else is enough",
     THREE "runs a1 queue=a gpu=30; runs bl queue=b gpu=60; wants mine queue=a gpu=10", "evict bl InCohortFairSharing"},
    {"final share alone: then nobody", THREE "runs a1 queue=a gpu=30; runs bl queue=b gpu=60; wants mine queue=a gpu=10", "", FINAL_ONLY},

    /* ---- weights ---- */
    {"twice the weight, twice the share",
     ROOM "queue a in=all gpu=3 within=Lower reclaim=Any weight=2000; queue b in=all gpu=3 reclaim=Any; queue c in=all gpu=3 reclaim=Any;"
          "runs a1,a2,a3 queue=a gpu=1; runs b1,b2,b3,b4,b5,b6 queue=b gpu=1; wants mine queue=a gpu=2",
     "evict b1 InCohortFairSharing; evict b2 InCohortFairSharing"},
    {"weight 0: all that is borrowed may go",
     ROOM "queue a in=all gpu=3 within=Lower reclaim=Any; queue b in=all gpu=3 reclaim=Any weight=0; queue c in=all gpu=3 reclaim=Any;"
          "runs a1,a2,a3 queue=a gpu=1; runs b1,b2,b3,b4,b5,b6 queue=b gpu=1; wants mine queue=a gpu=3",
     "evict b1 InCohortFairSharing; evict b2 InCohortFairSharing; evict b3 InCohortFairSharing"},
    {"weight 0: what is its own stays",
     ROOM "queue a in=all gpu=3 reclaim=Any; queue b in=all gpu=3 reclaim=Any weight=0; runs a1,a2,a3 queue=a gpu=1;"
          "runs b1,b2,b3 queue=b gpu=1; wants mine queue=a gpu=1",
     ""},
    {"a cohort of weight 0: what is its own stays",
     ROOM "queue l in=root gpu=0 reclaim=Any; queue r in=right gpu=0 reclaim=Any weight=0; cohort right in=root gpu=1 weight=0;"
          "runs r1 queue=r gpu=1; wants mine queue=l gpu=1",
     ""},
    {"weight 0: what is its own is taken back",
     ROOM "queue a in=root gpu=1 reclaim=Any weight=0; queue b in=root gpu=0; runs b1 queue=b gpu=1; wants mine queue=a gpu=1",
     "evict b1 InCohortReclamation"},
    {"and for a queue below a cohort that owns it",
     ROOM "queue a in=A gpu=0 reclaim=Any weight=0; queue b in=root gpu=0; cohort A in=root gpu=1 weight=0; runs b1 queue=b gpu=1;"
          "wants mine queue=a gpu=1",
     "evict b1 InCohortFairSharing"},
    {"weight 0 borrows: nobody with a weight goes",
     ROOM "queue a in=all gpu=1 reclaim=Any weight=0; queue b in=all gpu=1; runs a1 queue=a gpu=1; runs b1,b2 queue=b gpu=1;"
          "wants mine queue=a gpu=1",
     ""},
    {"both of weight 0: as if both had one",
     ROOM "cohort all gpu=3; queue a in=all gpu=1 reclaim=Any weight=0; queue b in=all gpu=0 weight=0; runs b1,b2,b3 queue=b gpu=1;"
          "wants mine queue=a gpu=2",
     "evict b1 InCohortFairSharing"},
    {"both of weight 1: the same",
     ROOM "cohort all gpu=3; queue a in=all gpu=1 reclaim=Any; queue b in=all gpu=0; runs b1,b2,b3 queue=b gpu=1; wants mine queue=a gpu=2",
     "evict b1 InCohortFairSharing"},

    /* ---- hierarchies ---- */
    {"without a cohort: the own queue", ROOM "queue a gpu=1 within=Lower; runs a1 queue=a gpu=1; wants mine queue=a prio=9 gpu=1",
     "evict a1 InClusterQueue"},
    {"all over the tree, from the highest share down",
     ROOM "cohort root gpu=5; cohort left in=root gpu=5 weight=2000; cohort right in=root gpu=5; queue a in=left gpu=1 reclaim=Any weight=2000;"
          "queue b in=left gpu=1; queue c in=root gpu=1; queue d in=right gpu=1; queue e in=right gpu=1 weight=990;"
          "runs b1 queue=b prio=1 gpu=1; runs b2 queue=b prio=2 gpu=1; runs b3 queue=b prio=3 gpu=1; runs b4,b5 queue=b prio=5 gpu=1;"
          "runs c1 queue=c prio=1 gpu=1; runs c2 queue=c prio=2 gpu=1; runs c3 queue=c prio=3 gpu=1; runs c4,c5 queue=c prio=5 gpu=1;"
          "runs d1 queue=d prio=1 gpu=1; runs d2 queue=d prio=2 gpu=1; runs d3 queue=d prio=3 gpu=1; runs d4,d5 queue=d prio=5 gpu=1;"
          "runs e1 queue=e prio=1 gpu=1; runs e2 queue=e prio=2 gpu=1; runs e3 queue=e prio=3 gpu=1; runs e4,e5 queue=e prio=5 gpu=1;"
          "wants mine queue=a gpu=5",
     "evict c1 InCohortFairSharing; evict e1 InCohortFairSharing; evict c2 InCohortFairSharing; evict b1 InCohortFairSharing;"
     " evict b2 InCohortFairSharing"},
    {"a queue that borrows within a cohort that does not is left alone",
     ROOM "cohort root; cohort right in=root gpu=1 weight=100; queue a in=root gpu=5 within=Lower reclaim=Any weight=10000;"
          "queue b in=right gpu=0 weight=100; runs a1,a2,a3 queue=a prio=-1 gpu=1; runs b1 queue=b prio=-1 gpu=1; wants mine queue=a gpu=5",
     "evict a1 InClusterQueue; evict a2 InClusterQueue; evict a3 InClusterQueue"},
    {"reclaimWithinCohort holds by shares, too",
     ROOM "cohort root; cohort right in=root gpu=3 weight=100; queue a in=root gpu=5 within=Lower reclaim=Lower weight=10000;"
          "queue b in=right gpu=0 weight=100; runs a1,a2,a3 queue=a prio=-1 gpu=1; runs b1 queue=b prio=100 gpu=4; wants mine queue=a gpu=4",
     "evict a1 InClusterQueue; evict a2 InClusterQueue; evict a3 InClusterQueue"},
    {"the shares of the cohorts below the one that both share are compared",
     ROOM "cohort root; cohort A in=root weight=1010; cohort AA in=A; cohort AAA in=AA; cohort B in=root weight=990; cohort BB in=B;"
          "cohort BBB in=BB; cohort C in=root; cohort CC in=C gpu=1; queue a in=AAA gpu=0 reclaim=Any; queue b in=BBB gpu=0;"
          "runs b1 queue=b gpu=1; wants mine queue=a gpu=1",
     "evict b1 InCohortFairSharing"},
    {"whom the first strategy passed over are there for the second",
     ROOM "cohort A in=root gpu=1 weight=0; queue p in=A gpu=2 reclaim=Any; queue y in=A gpu=2; queue x in=root gpu=1; runs p1 queue=p gpu=2;"
          "runs y1,y2 queue=y gpu=2; runs x1,x2 queue=x gpu=1; wants mine queue=p gpu=1",
     "evict y1 InCohortFairSharing; evict x1 InCohortFairSharing"},

    /* ---- flavors ---- */
    {"within its own in the flavor that it asks for, whatever it borrows in another",
     ROOM "queue a in=all fa.gpu=3 fb.gpu=0 reclaim=Any preempt-first; queue b in=all fa.gpu=0 fb.gpu=6; runs a1,a2 queue=a gpu=1 flavor=fa;"
          "runs a3,a4,a5,a6,a7 queue=a gpu=1 flavor=fb; runs b1 queue=b gpu=1 flavor=fa; wants mine queue=a gpu=1",
     "evict b1 InCohortReclamation"},

    /* ---- where we do otherwise: two gangs must not take each other's place for ever ---- */
    {"who is within its queue's own in all that it uses stays, whatever that queue borrows else",
     ROOM "queue a in=all gpu=4 cpu=0 reclaim=Any; queue b in=all gpu=0 cpu=0 reclaim=Any; queue c in=all gpu=0 cpu=8; runs a1 queue=a gpu=4;"
          "runs a2 queue=a gpu=0 cpu=8; wants mine queue=b gpu=2 cpu=2",
     ""},
    {"nobody goes where another of its queue would take back what is that queue's own",
     ROOM "queue a in=all gpu=5 reclaim=Any weight=2000; queue b in=all gpu=7 reclaim=Any weight=500; runs tiny queue=b gpu=1;"
          "runs big queue=b prio=9 gpu=10; wants small queue=b gpu=7; wants mine queue=a gpu=12",
     ""},
    {"nor where one of those who would go could",
     ROOM "queue a in=all gpu=5 reclaim=Any weight=2000; queue b in=all gpu=7 reclaim=Any weight=500; runs tiny queue=b gpu=1;"
          "runs big queue=b prio=9 gpu=10; wants mine queue=a gpu=12",
     ""},
    {"but where all of them together are more than that",
     ROOM "queue a in=all gpu=5 reclaim=Any weight=2000; queue b in=all gpu=7 reclaim=Any weight=500; runs big queue=b prio=9 gpu=10;"
          "wants mine queue=a gpu=12",
     "evict big InCohortFairSharing"},
    {"and where who could need not go, after all (as in Kueue)",
     ROOM "queue a in=all gpu=5 reclaim=Any weight=2000; queue b in=all gpu=7 reclaim=Any weight=500; runs tiny queue=b gpu=1;"
          "runs big queue=b prio=9 gpu=10; wants mine queue=a gpu=11",
     "evict big InCohortFairSharing"},
    {"and where that one could not take anything back",
     ROOM "queue a in=all gpu=5 reclaim=Any weight=2000; queue b in=all gpu=7 reclaim=Lower weight=500; runs tiny queue=b gpu=1;"
          "runs big queue=b prio=9 gpu=10; wants small queue=b gpu=7; wants mine queue=a gpu=12",
     "evict tiny InCohortFairSharing; evict big InCohortFairSharing"},
    {"equal shares before and after: the same priority stays",
     ROOM "queue a in=all gpu=0 cpu=0 reclaim=Any; queue b in=all gpu=0 cpu=0 reclaim=Any; queue c in=all gpu=4 cpu=8;"
          "runs a1 queue=a gpu=0 cpu=4; runs b1 queue=b gpu=0 cpu=4; runs b2 queue=b gpu=2; runs a2 queue=a gpu=1; runs c1 queue=c gpu=1;"
          "wants mine queue=a gpu=1",
     ""},
    {"equal shares before and after: the higher priority takes it",
     ROOM "queue a in=all gpu=0 cpu=0 reclaim=Any; queue b in=all gpu=0 cpu=0 reclaim=Any; queue c in=all gpu=4 cpu=8;"
          "runs a1 queue=a gpu=0 cpu=4; runs b1 queue=b gpu=0 cpu=4; runs b2 queue=b gpu=2; runs a2 queue=a gpu=1; runs c1 queue=c gpu=1;"
          "wants mine queue=a prio=1 gpu=1",
     "evict b2 InCohortFairSharing"},
};

static const struct fair_case heads[] = {
    {"who would borrow waits while his lender, who takes it back, has more to start (we do otherwise: Kueue evicts him)",
     ROOM "queue own in=c gpu=8 reclaim=Any; queue other in=c gpu=0; wants b queue=other prio=9 gpu=4; wants a queue=own gpu=4;"
          "wants c queue=own gpu=4",
     "start a; start c", BOTH},
    {"who takes nothing back keeps nobody waiting",
     ROOM "queue own in=c gpu=8; queue other in=c gpu=0; wants b queue=other prio=9 gpu=4; wants a queue=own gpu=4;"
          "wants c queue=own gpu=4",
     "start a; start b", BOTH},
    {"the lower share first, not who waits longest",
     ROOM "queue a in=all gpu=50; queue b in=all gpu=50; queue spare in=all gpu=10; runs a0 queue=a gpu=50; runs b0 queue=b gpu=55;"
          "wants old queue=b gpu=1 at=1; wants new queue=a gpu=5 at=9",
     "start new"},
    {"the share that it has with its head, not before",
     ROOM "cohort all gpu=100; queue b in=all gpu=0; queue c in=all gpu=0; runs b0 queue=b gpu=10; wants c1 queue=c gpu=75 at=1;"
          "wants b1 queue=b gpu=50 at=9",
     "start b1"},
    {"first of all who borrows nothing that he asks for",
     ROOM "queue a in=all fa.gpu=1 fb.gpu=0; queue b in=all fa.gpu=0 fb.gpu=9; runs a1 queue=a gpu=9 flavor=fb; wants b1 queue=b gpu=1 at=1;"
          "wants a2 queue=a gpu=1 at=9",
     "start a2"},
    {"at each level of the tree the share of who stands there",
     ROOM "cohort root gpu=10; cohort left in=root; cohort right in=root; queue l1 in=left gpu=0; queue l2 in=left gpu=0;"
          "queue r in=right gpu=0; runs x queue=l2 gpu=6; runs y queue=r gpu=3; wants a queue=l1 gpu=1 at=1; wants b queue=r gpu=1 at=9",
     "start b"},
    {"below the winner the lower share",
     ROOM "cohort root gpu=10; cohort left in=root; queue l1 in=left gpu=0; queue l2 in=left gpu=0; queue r in=root gpu=0; runs x queue=l1 gpu=1;"
          "runs y queue=r gpu=8; wants a queue=l1 gpu=1 at=1; wants b queue=l2 gpu=1 at=5; wants d queue=r gpu=1 at=3",
     "start b"},
    {"what started in this round counts",
     ROOM "cohort root gpu=7; cohort left in=root; cohort right in=root; queue l1 in=left gpu=0; queue l2 in=left gpu=0; queue r in=right gpu=0;"
          "wants a queue=l1 gpu=2 at=1; wants b queue=l2 gpu=3 at=2; wants c queue=r gpu=3 at=3",
     "start a; start c"},
    {"what is promised counts as what is used",
     ROOM "cohort root gpu=2; cohort left in=root; queue l1 in=left gpu=4/0 within=Lower; queue l2 in=left gpu=0 weight=250;"
          "queue r in=root gpu=0 weight=400; runs low queue=l1 gpu=4; wants high queue=l1 prio=9 gpu=4 at=1; wants b queue=l2 gpu=2 at=2;"
          "wants c queue=r gpu=2 at=3",
     "evict low InClusterQueue; start c"},
    {"twice the weight, half the share",
     ROOM "cohort all gpu=8; queue a in=all gpu=0; queue b in=all gpu=0 weight=2000; runs a1 queue=a gpu=1; runs b1 queue=b gpu=2;"
          "wants x queue=a gpu=4 at=1; wants y queue=b gpu=4 at=9",
     "start y"},
    {"weight 0 comes last",
     ROOM "cohort all gpu=9; queue a in=all gpu=0 weight=0; queue b in=all gpu=0; runs b1 queue=b gpu=5; wants x queue=a prio=9 gpu=1 at=1;"
          "wants y queue=b gpu=4 at=9",
     "start y"},
    {"but not with what is its own",
     ROOM "queue a in=all gpu=4 weight=0; queue b in=all gpu=0; wants x queue=b gpu=4 at=1; wants y queue=a gpu=4 at=9", "start y"},
    {"of two with weight 0 who borrows less",
     ROOM "cohort all gpu=9; queue a in=all gpu=0 weight=0; queue b in=all gpu=0 weight=0; runs b1 queue=b gpu=1; wants x queue=b gpu=5 at=1;"
          "wants y queue=a gpu=5 at=9",
     "start y"},
    {"of equal shares the higher priority",
     ROOM "cohort all gpu=9; queue a in=all gpu=0; queue b in=all gpu=0; wants x queue=b gpu=5 at=1; wants y queue=a prio=1 gpu=5 at=9",
     "start y"},
    {"then who waits longer",
     ROOM "cohort all gpu=9; queue a in=all gpu=0; queue b in=all gpu=0; wants x queue=b gpu=5 at=9; wants y queue=a gpu=5 at=1", "start y"},
    {"the resource of which most is borrowed is what counts",
     ROOM "cohort all gpu=10; queue own in=all gpu=0 cpu=100; queue a in=all gpu=0 cpu=0; queue b in=all gpu=0 cpu=0; runs a1 queue=a gpu=0 cpu=90;"
          "runs b1 queue=b gpu=7; wants x queue=a gpu=1 at=1; wants y queue=b gpu=1 at=9; runs c1 queue=own gpu=0; runs c2 queue=own gpu=2",
     "start y"},
    {"queues without a cohort have no share: the room of nodes goes by priority",
     "node n0 gpu=4; queue a gpu=4; queue b gpu=4; wants x queue=a gpu=4 at=1; wants y queue=b prio=1 gpu=4 at=9", "start y"},
    {"beside a cohort who borrows less comes first",
     "node n0 gpu=4; cohort all gpu=4; queue a in=all gpu=0; queue b gpu=4; wants x queue=a prio=9 gpu=4 at=1; wants y queue=b gpu=4 at=9",
     "start y"},
};

static struct world begin(enum strategies strategies)
{
    struct world w = world_new();
    w.fair.on = true;
    w.fair.strategies_n = strategies == BOTH ? 0 : 1;
    w.fair.strategies[0] = strategies == INITIAL_ONLY ? FAIR_LESS_THAN_INITIAL_SHARE : FAIR_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE;
    return w;
}

static void check(const struct fair_case *cases, size_t n)
{
    uint32_t wrong_n = 0;
    for (size_t i = 0; i < n; i++) {
        struct world w = begin(cases[i].strategies);
        story(&w, cases[i].objects);
        step(&w);
        if (strcmp(decided(&w), cases[i].decided) != 0) {
            print_error("%s: decided \"%s\", expected \"%s\"\n", cases[i].name, decided(&w), cases[i].decided);
            wrong_n++;
        }
        world_free(&w);
    }
    assert_int_equal(wrong_n, 0);
}

static void each_preemption_is_as_it_says(void **state)
{
    (void)state;
    check(preemptions, sizeof preemptions / sizeof *preemptions);
}

static void heads_come_in_the_order_of_shares(void **state)
{
    (void)state;
    check(heads, sizeof heads / sizeof *heads);
}

static int64_t share_of_queue(struct world *w, const char *name)
{
    int64_t share = -1;
    assert_true(state_share(w->s, id(w, name), false, &share));
    return share;
}

/* Victims leave, the other starts, and both sides are told of their shares. */
static void both_sides_know_their_shares(void **state)
{
    (void)state;
    struct world w = begin(BOTH);
    story(&w, ROOM "cohort all gpu=8; queue red in=all gpu=0 reclaim=Any; queue blue in=all gpu=0 reclaim=Any;"
                   "runs r1,r2,r3,r4 queue=red gpu=2; wants b1 queue=blue gpu=4");
    step(&w);
    assert_string_equal(decided(&w), "evict r1 InCohortFairSharing; evict r2 InCohortFairSharing");
    assert_int_equal(share_of_queue(&w, "red"), 1000);
    outcome(&w, EFFECT_EVICT, "r1", NULL, OUTCOME_DONE);
    story(&w, "wants r1 queue=red gpu=2");
    step(&w); /* it is tried while the other's room is only promised */
    assert_string_equal(decided(&w), "");
    outcome(&w, EFFECT_EVICT, "r2", NULL, OUTCOME_DONE);
    story(&w, "wants r2 queue=red gpu=2");
    step(&w);
    assert_string_equal(decided(&w), "start b1");
    assert_int_equal(share_of_queue(&w, "red"), 500);
    assert_int_equal(share_of_queue(&w, "blue"), 500);
    for (int i = 0; i < 3; i++)
        step(&w);
    if (!strstr(why_tree(&w, "r1"), "ClusterQueue blue has a share of 500, and with this one its own side would have 750"))
        fail_msg("%s", why_tree(&w, "r1"));
    world_free(&w);
}

/* By shares borrowWithinCohort says nothing. */
static void who_would_borrow_is_told_which_policy_forbids_it(void **state)
{
    (void)state;
    struct world w = begin(BOTH);
    story(&w, ROOM "queue q in=c gpu=4 within=Lower; queue o in=c gpu=4; runs o queue=o gpu=8; wants high queue=q prio=9 gpu=8");
    step(&w);
    assert_string_equal(decided(&w), "");
    if (!strstr(why_tree(&w, "high"), "it would have to borrow, and reclaimWithinCohort is Never"))
        fail_msg("%s", why_tree(&w, "high"));
    world_free(&w);
}

/* What comes free is too little at first, then one can start, and so much is left that the other's reason counts another amount. */
static void who_stands_is_told_of_what_is_left(void **state)
{
    (void)state;
    struct world w = begin(BOTH);
    story(&w, ROOM "cohort all gpu=8; queue a in=all gpu=0; queue b in=all gpu=0; queue c in=all gpu=0; runs x queue=a gpu=3;"
                   "runs y queue=a gpu=5; wants b1 queue=b gpu=6; wants c1 queue=c gpu=6");
    step(&w);
    assert_int_equal(standing_n(w.s), 2);
    gone(&w, CHANGE_GANG_GONE, "x");
    w.now_ms += 1000;
    step(&w);
    gone(&w, CHANGE_GANG_GONE, "y");
    w.now_ms += 1000;
    step(&w);
    assert_string_equal(decided(&w), "start b1");
    assert_true(w.plan.wake_ms > w.now_ms);
    w.now_ms = w.plan.wake_ms;
    step(&w);
    if (!strstr(why_tree(&w, "c1"), "4 more needed"))
        fail_msg("%s", why_tree(&w, "c1"));
    world_free(&w);
}

/* Others leave for "high" as it borrows three CPUs; who leaves counts as gone, but not so that it could borrow seven.
 * core_events 1820 40 1 */
static void it_borrows_no_more_than_others_left_for(void **state)
{
    (void)state;
    struct world w = begin(BOTH);
    story(&w, "node n0 gpu=1000 cpu=1000000; queue o in=c fb.gpu=2 fb.cpu=4000; queue q in=c fb.gpu=1 fb.cpu=8000 reclaim=Any;"
             "queue p in=c fb.gpu=6 fb.cpu=0 fn.gpu=5 fn.cpu=8000 within=Lower reclaim=Lower borrow-last;"
             "runs low queue=p prio=2 gpu=3 cpu=7000 flavor=fn; runs other queue=q prio=2 gpu=4 cpu=2000 flavor=fb;"
             "wants high queue=p prio=3 set=s0 gpu=8 cpu=3000 set=s1 gpu=0 cpu=4000");
    step(&w);
    assert_string_equal(decided(&w), "evict low InClusterQueue; evict other InCohortFairSharing");
    outcome(&w, EFFECT_EVICT, "low", NULL, OUTCOME_DONE);
    outcome(&w, EFFECT_EVICT, "other", NULL, OUTCOME_DONE);
    story(&w, "node n1 gpu=1"); /* it looks again */
    step(&w);
    assert_string_equal(decided(&w), "");
    gone(&w, CHANGE_GANG_GONE, "low");
    gone(&w, CHANGE_GANG_GONE, "other");
    step(&w);
    assert_string_equal(decided(&w), "start high");
    const struct plan_entry *e = entry_of(&w, EFFECT_ADMIT, "high");
    for (uint32_t i = 0; i < e->choices_n; i++)
        assert_string_equal(text_of(&w, e->choices[i].flavor), e->choices[i].pod_set ? "fn" : "fb");
    world_free(&w);
}

/* Shares refuse it "fa" as long as its queue uses what others have, who leave for it in "fb". Gone for that, they would let it go there:
 * then they had left in vain, and so on for ever. core_events 111 400 1 (of an older tree) */
static void who_waits_does_not_take_another_flavor_by_the_share_of_those_who_leave(void **state)
{
    (void)state;
    struct world w = begin(BOTH);
    story(&w, ROOM "queue spare in=all fa.gpu=8 fb.gpu=4; queue p in=all fa.gpu=0 fb.gpu=0 within=Lower reclaim=Any;"
                   "queue o in=all fa.gpu=0 fb.gpu=0; runs low1,low2 queue=p gpu=2 flavor=fb; runs a,b queue=o gpu=4 flavor=fa;"
                   "wants high queue=p prio=9 gpu=4");
    step(&w);
    assert_string_equal(decided(&w), "evict low1 InClusterQueue; evict low2 InClusterQueue");
    outcome(&w, EFFECT_EVICT, "low1", NULL, OUTCOME_DONE);
    outcome(&w, EFFECT_EVICT, "low2", NULL, OUTCOME_DONE);
    story(&w, "node n1 gpu=1"); /* it looks again */
    step(&w);
    assert_string_equal(decided(&w), "");
    gone(&w, CHANGE_GANG_GONE, "low1"); /* nor when one has left */
    step(&w);
    assert_string_equal(decided(&w), "");
    gone(&w, CHANGE_GANG_GONE, "low2");
    step(&w);
    assert_string_equal(decided(&w), "start high");
    assert_string_equal(text_of(&w, entry_of(&w, EFFECT_ADMIT, "high")->choices[0].flavor), "fb");
    world_free(&w);
}

/* While "low" of its own queue counts as gone it would have a lower share than "o", and where "o" goes it need not go, as its node is none
 * for "high": then its queue has the higher one, and "o" would take that back. model_core_events 1000001 5600 1 */
static void nobody_goes_by_a_share_that_counts_on_who_stays(void **state)
{
    (void)state;
    struct world w = begin(BOTH);
    story(&w, "node n gpu=8; node small gpu=4; queue q in=c gpu=5 within=Lower reclaim=Any; queue o in=c gpu=0 reclaim=Any;"
              "queue z in=c gpu=12; runs low queue=q gpu=4 on=small; runs one queue=o gpu=6 on=n; wants high queue=q prio=1 gpu=8");
    step(&w);
    assert_string_equal(decided(&w), "");
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_preemption_is_as_it_says),
        cmocka_unit_test(heads_come_in_the_order_of_shares),
        cmocka_unit_test(both_sides_know_their_shares),
        cmocka_unit_test(who_would_borrow_is_told_which_policy_forbids_it),
        cmocka_unit_test(who_stands_is_told_of_what_is_left),
        cmocka_unit_test(it_borrows_no_more_than_others_left_for),
        cmocka_unit_test(nobody_goes_by_a_share_that_counts_on_who_stays),
        cmocka_unit_test(who_waits_does_not_take_another_flavor_by_the_share_of_those_who_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
