package main

type benchCommand struct {
	targetSettings `embed:""`
	List           bool
}

func (c *benchCommand) Run() error { return nil }
