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

	Width    time.Duration `json:"bar_ns"`    // of time, for each of these
	Start    time.Time     `json:"bar_start"` // of the first
	Over     []int         `json:"requests_over_time"`
	Policies []Verdict     `json:"policies"`
}

// A Verdict is what a policy would have done.
type Verdict struct {
	Policy  string `json:"policy"`
	Refused int    `json:"refused"` // requests
	Hit     int    `json:"hit"`     // clients that were refused at least once

	// Early is how many of the refused requests came before the RetryAfter of the refusal before
	// had passed. A client that waits would not have sent them.
	Early int `json:"early"`

	LongestShutOut time.Duration `json:"longest_shut_out_ns"` // of a client: see Client
	Over           []int         `json:"refused_over_time"`
	Worst          []Client      `json:"worst"`
	Networks       []Network     `json:"networks"`
}

// A Client is one of those with most refused requests.
type Client struct {
	Key      string `json:"key"`
	Requests int    `json:"requests"`
	Refused  int    `json:"refused"`

	// ShutOut is the longest time from a refused request until the policy would have granted it, if
	// all requests in between were refused, too. A request that can never be granted counts only
	// until the last of them.
	ShutOut time.Duration `json:"shut_out_ns"`
}

// A Network is one of those from which most of the refused requests came.
type Network struct {
	Prefix  string `json:"prefix"` // of 24 bits, or of 48 for IPv6
	Clients int    `json:"clients"`
	Refused int    `json:"refused"`
}
