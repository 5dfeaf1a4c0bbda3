package httplimit

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// TargetHost is a KeyFunc for a [Transport]. Its key is the host that the request goes to, in lower
// case, and the port if it is not the default of the scheme: api.example, api.example:8080,
// [2001:db8::1]:8080. All spellings of an IP address that package net/netip reads give the same
// key. In other hosts, only upper-case letters and a dot at the end are changed: bücher.example and
// its xn-- form are two keys. If the URL has no host, TargetHost fails with an error that wraps
// [ErrNoKey].
func TargetHost(req *http.Request) (string, error) {
	if req.URL == nil {
		return "", errNoHost
	}
	host := strings.ToLower(strings.TrimSuffix(req.URL.Hostname(), "."))
	if host == "" {
		return "", errNoHost
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		host = addr.Unmap().String()
	}
	port := strings.TrimLeft(req.URL.Port(), "0") // dialers ignore leading zeros
	if port == defaultPorts[req.URL.Scheme] {
		port = ""
	}
	switch {
	case port != "":
		return net.JoinHostPort(host, port), nil
	case strings.Contains(host, ":"):
		return "[" + host + "]", nil
	}
	return host, nil
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

var errNoHost = fmt.Errorf("weir: the request's URL has no host: %w", ErrNoKey)
