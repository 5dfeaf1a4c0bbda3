// Package test has the tests of otelweir that need the exporter for Prometheus.
package test
