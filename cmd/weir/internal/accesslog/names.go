package accesslog

// names are, for each of the common fields and the time, the fields of a format that may have it.
// The first that a line has counts.
type names map[string][]string

// servers are the formats in JSON, with names as a server writes them.
var servers = []struct {
	name  string
	names names
}{
	{"caddy", names{
		"time": {"ts"}, "ip": {"request.client_ip", "request.remote_ip"}, "user": {"user_id"},
		"method": {"request.method"}, "uri": {"request.uri"}, "host": {"request.host"},
		"status": {"status"}, "bytes": {"size"},
		"referer": {"request.headers.Referer"}, "agent": {"request.headers.User-Agent"},
	}},
	{"traefik", names{
		"time": {"StartUTC", "StartLocal", "time"}, "ip": {"ClientHost"}, "user": {"ClientUsername"},
		"method": {"RequestMethod"}, "uri": {"RequestPath"}, "host": {"RequestHost"},
		"status": {"DownstreamStatus"}, "bytes": {"DownstreamContentSize"},
		"referer": {"request_Referer"}, "agent": {"request_User-Agent"},
	}},
	{"envoy", names{
		"time": {"start_time"}, "ip": {"downstream_remote_address", "downstream_direct_remote_address"},
		"method": {"method"}, "uri": {"path", "x-envoy-original-path"}, "host": {"authority", ":authority"},
		"status": {"response_code"}, "bytes": {"bytes_sent"},
		"referer": {"referer"}, "agent": {"user_agent", "user-agent"},
	}},
	{"json", names{
		"time": {
			"time", "timestamp", "@timestamp", "ts", "msec", "time_iso8601", "time_local", "datetime", "date",
			"start_time", "requestTime",
		},
		"ip": {
			"ip", "client_ip", "remote_addr", "remote_ip", "clientIp", "clientip", "client", "remoteAddr", "remote",
			"sourceIp", "source_ip", "httpRequest.remoteIp", "http.client_ip",
		},
		"user":    {"user", "remote_user", "user_id", "username"},
		"method":  {"method", "request_method", "httpMethod", "verb", "httpRequest.requestMethod"},
		"uri":     {"uri", "request_uri", "path", "url", "httpRequest.requestUrl"},
		"host":    {"host", "http_host", "server_name"},
		"status":  {"status", "status_code", "response", "httpRequest.status"},
		"bytes":   {"bytes", "body_bytes_sent", "bytes_sent", "size", "httpRequest.responseSize"},
		"referer": {"referer", "http_referer", "referrer"},
		"agent":   {"agent", "user_agent", "http_user_agent", "userAgent", "httpRequest.userAgent"},
	}},
}

// with returns the names with the time of o in place of the usual ones.
func (n names) with(o Options) names {
	if o.Time == "" {
		return n
	}
	own := names{}
	for name, fields := range n {
		own[name] = fields
	}
	own["time"] = []string{o.Time}
	return own
}

// find returns a field by a name of its format, or one of the common ones. get returns the field of
// the format.
func (n names) find(name string, get func(string) []byte) []byte {
	of := name
	if name == "path" {
		of = "uri"
	}
	fields := n[of]
	if len(fields) == 0 { // it has no other name
		return orNil(get(name))
	}
	var value []byte
	for _, field := range fields {
		if value = orNil(get(field)); value != nil {
			break
		}
	}
	if value == nil && inRequest(of) {
		method, uri := request(get("request"))
		switch {
		case method == nil: // it is something else
		case of == "method":
			value = orNil(method)
		default:
			value = orNil(uri)
		}
	}
	switch {
	case name == "path":
		return path(value)
	case name == "ip":
		return withoutPort(value)
	}
	return value
}

// inRequest reports whether a field may be a part of the field request, which is "GET / HTTP/1.1"
// in logs of nginx.
func inRequest(name string) bool { return name == "method" || name == "uri" }
