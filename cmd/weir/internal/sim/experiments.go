package sim

// An Experiment is a Scenario with an explanation.
type Experiment struct {
	ID, Title string
	Text      string // what to look for
	Query     string // of the Scenario
}

// Experiments are the guided tour of the page, in order.
var Experiments = []Experiment{
	{
		"boundary", "The boundary of a window",
		"Twenty requests come just before a window ends, twenty more just after it. A fixed window of 20 each 5 seconds " +
			"grants all forty: twice the limit, in a fifth of a second. The sliding log grants twenty in any 5 seconds. " +
			"The sliding window estimates, and the token bucket has earned less than one event since.",
		"p=fixed-window+20/5s&p=sliding-window+20/5s&p=sliding-log+20/5s&p=20/5s&r=0&b=4.9s:20,5.1s:20&t=15s&m=5s",
	},
	{
		"outage", "After an outage",
		"A sender offers 20 lines a second and calls Wait. Twice its input stops for a second, and what has piled up comes at " +
			"once. The leaky bucket never makes up for the pause: it keeps its 20 a second. The token bucket and the windows " +
			"send what they have saved.",
		"p=20/1s&p=leaky-bucket+20/1s&p=fixed-window+20/1s&p=sliding-window+20/1s&r=20&o=4s-5s,6s-7s&c=wait&t=10s",
	},
	{
		"queue", "A queue that fills",
		"Requests come in a hump, and wait. Three queues with the same outlet, 5 a second, have room for 5, 20 and 100. A small " +
			"one denies early, and nobody waits for long. A large one denies nobody, and makes everybody wait.",
		"p=leaky-bucket+5/1s+capacity=5&p=leaky-bucket+5/1s+capacity=20&p=leaky-bucket+5/1s+capacity=100&r=3x4,12x8,2x8&c=wait&t=20s",
	},
	{
		"two", "Two limits at once",
		"10 a second keeps bursts small. 60 in 10 seconds keeps the average down. Both together do both: all(…) grants what " +
			"each of its parts grants. Point at a denial to see which part decided.",
		"p=10/1s&p=sliding-log+60/10s&p=all(10/1s,+sliding-log+60/10s)&r=9&b=2s:12,12s:12&t=20s&m=10s",
	},
	{
		"change", "A policy that changes in use",
		"After 8 seconds the limit is halved, and in the second lane doubled. In the third it becomes another kind of policy. " +
			"What a key has used still counts: no change is a fresh allowance, and none shuts a key out.",
		"p=sliding-log+20/5s~8s~sliding-log+10/5s&p=sliding-log+20/5s~8s~sliding-log+40/5s&p=sliding-log+20/5s~8s~20/5s&r=8&t=20s&m=5s",
	},
	{
		"clients", "Clients that obey, clients that hammer",
		"Half of the clients wait for Retry-After, the others ask again every tenth of a second. A denial costs nothing, so " +
			"hammering does not shut the key. It does not open it either: no policy grants more than if all obeyed. The server " +
			"answers far more requests for it.",
		"p=5/1s&p=sliding-window+5/1s&p=sliding-log+5/1s&r=4&b=3s:20&c=mixed&t=20s",
	},
}
