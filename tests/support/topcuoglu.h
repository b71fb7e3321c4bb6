/* The worked example of Topcuoglu, Hariri, Wu (IEEE TPDS 13(3), 2002): 10 tasks on 3 processors. HEFT's
 * schedule is 80 long, CPOP's 86. Times are in units of 3 ns, so that means over processors are whole;
 * transfers take as long between any two processors. */
#ifndef TOPCUOGLU_H
#define TOPCUOGLU_H

enum { TOPCUOGLU_UNIT = 3 }; /* ns */

#define TOPCUOGLU_OP(name, p0, p1, p2)                                                                       \
	"{\"name\":\"" name "\",\"time_s\":{\"p0\":" p0 "e-9,\"p1\":" p1 "e-9,\"p2\":" p2 "e-9}}"
#define TOPCUOGLU_EDGE(from, to, bytes)                                                                      \
	"{\"from\":\"" from "\",\"to\":\"" to "\",\"bytes\":" bytes ",\"tensor\":\"to" to "\"}"
#define TOPCUOGLU_LINK(a, b)                                                                                 \
	"{\"from\":\"" a "\",\"to\":\"" b "\",\"latency_s\":0,\"bandwidth\":1e9,\"both_ways\":true}"

static const char *const topcuoglu_graph =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"topcuoglu\",\"ops\":["
	TOPCUOGLU_OP("T1", "42", "48", "27") ","
	TOPCUOGLU_OP("T2", "39", "57", "54") ","
	TOPCUOGLU_OP("T3", "33", "39", "57") ","
	TOPCUOGLU_OP("T4", "39", "24", "51") ","
	TOPCUOGLU_OP("T5", "36", "39", "30") ","
	TOPCUOGLU_OP("T6", "39", "48", "27") ","
	TOPCUOGLU_OP("T7", "21", "45", "33") ","
	TOPCUOGLU_OP("T8", "15", "33", "42") ","
	TOPCUOGLU_OP("T9", "54", "36", "60") ","
	TOPCUOGLU_OP("T10", "63", "21", "48")
	"],\"edges\":["
	TOPCUOGLU_EDGE("T1", "T2", "54") ","
	TOPCUOGLU_EDGE("T1", "T3", "36") ","
	TOPCUOGLU_EDGE("T1", "T4", "27") ","
	TOPCUOGLU_EDGE("T1", "T5", "33") ","
	TOPCUOGLU_EDGE("T1", "T6", "42") ","
	TOPCUOGLU_EDGE("T2", "T8", "57") ","
	TOPCUOGLU_EDGE("T2", "T9", "48") ","
	TOPCUOGLU_EDGE("T3", "T7", "69") ","
	TOPCUOGLU_EDGE("T4", "T8", "81") ","
	TOPCUOGLU_EDGE("T4", "T9", "69") ","
	TOPCUOGLU_EDGE("T5", "T9", "39") ","
	TOPCUOGLU_EDGE("T6", "T8", "45") ","
	TOPCUOGLU_EDGE("T7", "T10", "51") ","
	TOPCUOGLU_EDGE("T8", "T10", "33") ","
	TOPCUOGLU_EDGE("T9", "T10", "39")
	"]}";

static const char *const topcuoglu_system =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"three\",\"contention\":false,\"devices\":[{"
        "\"name\":\"p0\"},{\"name\":\"p1\"},{\"name\":\"p2\"}],"
	"\"links\":[" TOPCUOGLU_LINK("p0", "p1") "," TOPCUOGLU_LINK("p0", "p2") "," TOPCUOGLU_LINK("p1",
                                                                                                   "p2") "]}";

#endif
