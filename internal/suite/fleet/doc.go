// Package fleet simulates many processes that share a store behind a fleet.Lease each, in virtual
// time: how much of a limit they can use, how often they ask the store, and that they never go
// over.
//
//	WEIR_LONG=1 go test -v -run Table ./internal/suite/fleet    the table of docs/fleet.md
//	WEIR_MODEL_TIME=1h go test -timeout 2h -run Trials ./internal/suite/fleet    random trials for that time
package fleet
