package accesslog

import (
	"bytes"
	"fmt"
)

// alb reads the log of an AWS Application Load Balancer. Its fields have the names that AWS gives
// them.
type alb struct {
	stamps stamps
	words  [40][]byte // AWS adds fields at the end
	n      int
}

var albFields = []string{
	"type", "time", "elb", "client:port", "target:port", "request_processing_time", "target_processing_time",
	"response_processing_time", "elb_status_code", "target_status_code", "received_bytes", "sent_bytes", "request",
	"user_agent", "ssl_cipher", "ssl_protocol", "target_group_arn", "trace_id", "domain_name", "chosen_cert_arn",
	"matched_rule_priority", "request_creation_time", "actions_executed", "redirect_url", "error_reason",
	"target:port_list", "target_status_code_list", "classification", "classification_reason", "conn_trace_id",
}

// Places of fields in albFields.
const (
	albTime, albClient, albStatus, albSent, albRequest, albAgent, albHost, albCreated = 1, 3, 8, 11, 12, 13, 18, 21

	albLeast = 14 // fields that all versions of the log have
)

func (*alb) Format() string { return "alb" }

func (a *alb) Parse(line []byte) (Stamp, error) {
	a.n = 0
	for rest := line; rest != nil && a.n < len(a.words); a.n++ {
		w, next, err := word(rest)
		if err != nil {
			return Stamp{}, err
		}
		a.words[a.n], rest = w, next
	}
	if a.n < albLeast {
		return Stamp{}, fmt.Errorf("%d fields, must be at least %d", a.n, albLeast)
	}
	if client := a.at(albClient); client != nil && !isAddr(client) {
		return Stamp{}, fmt.Errorf("client:port is %q, must be an address", shorten(string(client), 80))
	}
	when := a.words[albTime] // of the response
	if a.n > albCreated {
		when = a.words[albCreated] // of the request
	}
	return a.stamps.parse(when)
}

func (a *alb) at(i int) []byte {
	if i >= a.n {
		return nil
	}
	return orNil(a.words[i])
}

func (a *alb) Field(name string) []byte {
	method, uri := request(a.at(albRequest))
	switch name {
	case "ip":
		return withoutPort(a.at(albClient))
	case "method":
		return orNil(method)
	case "uri":
		if i := bytes.Index(uri, []byte("://")); i >= 0 {
			if j := bytes.IndexByte(uri[i+3:], '/'); j >= 0 {
				return uri[i+3+j:]
			}
		}
		return orNil(uri)
	case "path":
		return path(orNil(uri))
	case "status":
		return a.at(albStatus)
	case "bytes":
		return a.at(albSent)
	case "agent":
		return a.at(albAgent)
	case "host":
		return a.at(albHost)
	}
	for i, field := range albFields {
		if field == name {
			return a.at(i)
		}
	}
	return nil
}

func (a *alb) Check(field string) error {
	return oneOf(field, a.Format(), append([]string{"ip", "method", "uri", "path", "status", "bytes", "agent", "host"}, albFields...))
}
