// Command counts counts the instructions, allocations and bytes of a decision. Unlike times, they
// are the same on a busy machine, so that a test can compare them with those in counts.txt. It
// fails if a decision has become 5 % dearer, or cheaper. Then, from the root of the repository,
//
//	go run ./benchmarks/counts -write
//
// renews the rows of counts.txt that have changed. Without -write the command prints the counts,
// and changes nothing. Instructions need Linux on amd64, and valgrind.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
)

const (
	file  = "benchmarks/counts/counts.txt"
	renew = "go run ./benchmarks/counts -write" // the command that writes it
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("counts: ")
	if len(os.Args) > 1 && os.Args[1] == childArg {
		if err := serve(os.Args[2:]); err != nil {
			log.Fatal(err)
		}
		return
	}
	write := flag.Bool("write", false, "write the counts to "+file)
	flag.Parse()
	if err := run(*write); err != nil {
		log.Fatal(err)
	}
}

func run(write bool) error {
	if fault := unsupported(); fault != "" {
		return fmt.Errorf("%s", fault)
	}
	program, remove, err := build()
	if err != nil {
		return err
	}
	defer remove()
	t, err := measure(program)
	if err != nil {
		return err
	}
	if !write {
		_, err = fmt.Print(t)
		return err
	}
	if text, err := os.ReadFile(file); err == nil { // else it is written anew
		if was, err := parse(string(text)); err == nil {
			t = t.steadied(was.counts)
		}
	}
	return os.WriteFile(file, []byte(t.String()), 0o644)
}
