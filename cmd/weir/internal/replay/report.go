package replay

import "time"

// A Report is what [Run] has found.
type Report struct {
	Files      []File    `json:"files"`
	Key        string    `json:"key"`
	Requests   int       `json:"requests"`   // that policies were asked about
	Unselected int       `json:"unselected"` // by Where
	Costless   int       `json:"costless"`   // requests without the field of the cost, which is 0
	Clients    int       `json:"clients"`
	From       time.Time `json:"from"` // the first request
	To         time.Time `json:"to"`   // the last
	Whole      int       `json:"whole_seconds"`
	Spread     bool      `json:"spread"`
	Late       int       `json:"late"` // requests that came too late in the log to be sorted
	Stopped    bool      `json:"stopped"`

	Width    time.Duration `json:"bar_ns"`             // the span of time of a bar
	Start    time.Time     `json:"bar_start"`          // of the first bar
	Over     []int         `json:"requests_over_time"` // in each bar
	Policies []Verdict     `json:"policies"`
}

// A Verdict is what a policy would have done.
type Verdict struct {
	Policy  string `json:"policy"`
	Refused int    `json:"refused"` // requests
	Hit     int    `json:"hit"`     // clients that were refused at least once

	// Early is how many of the refused requests came before the RetryAfter of the client's previous
	// refusal had passed. A client that waits would not have sent them.
	Early int `json:"early"`

	LongestShutOut time.Duration `json:"longest_shut_out_ns"` // of a client: see Client
	Over           []int         `json:"refused_over_time"`
	Worst          []Client      `json:"worst"`
	Networks       []Network     `json:"networks"`
}

// A Client is one of the clients with the most refused requests.
type Client struct {
	Key      string `json:"key"`
	Requests int    `json:"requests"`
	Refused  int    `json:"refused"`

	// ShutOut is the longest time for which the policy refused all requests of the client: from the
	// first of them until the latest RetryAfter of these requests has passed. A RetryAfter of Never
	// counts as zero.
	ShutOut time.Duration `json:"shut_out_ns"`
}

// A Network is one of the networks from which the most refused requests came.
type Network struct {
	Prefix  string `json:"prefix"` // of 24 bits, or of 48 for IPv6
	Clients int    `json:"clients"`
	Refused int    `json:"refused"`
}
