// Package test has the tests of natsstore. They need a server of NATS, which runs in their process.
// The package is a module of its own, so that the users of natsstore need not download the server.
package test
