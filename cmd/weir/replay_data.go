package main

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
)

// writeJSON writes all of a result.
func writeJSON(w io.Writer, r replayed) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// writeCSV writes a line for each policy, after a line of names.
func writeCSV(w io.Writer, r replayed) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"policy", "requests", "refused", "clients", "clients_hit", "early", "longest_shut_out_s"})
	for _, p := range r.Policies {
		_ = c.Write([]string{
			p.Policy, strconv.Itoa(r.Requests), strconv.Itoa(p.Refused), strconv.Itoa(r.Clients), strconv.Itoa(p.Hit),
			strconv.Itoa(p.Early), strconv.FormatFloat(p.LongestShutOut.Seconds(), 'f', 3, 64),
		})
	}
	c.Flush()
	return c.Error()
}
