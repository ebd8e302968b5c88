// Command reference writes the configuration's reference page to the file that it
// is given.
package main

import (
	"log"
	"os"

	"github.com/reprise-sim/reprise/config"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: reference FILE")
	}
	if err := os.WriteFile(os.Args[1], []byte(config.Reference()), 0o666); err != nil {
		log.Fatal(err)
	}
}
