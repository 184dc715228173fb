package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCommand prints a completion script, made from the command line's own grammar, so that
// it cannot lag behind it.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell: ${enum}."`
}

// Run implements the verb.
func (c *completionCommand) Run(parsed *kong.Context, s streams) error {
	places := placesOf(parsed.Model.Node)
	switch c.Shell {
	case "bash":
		bashCompletion(s.out, places)
	case "zsh":
		zshCompletion(s.out, places)
	case "fish":
		fishCompletion(s.out, places)
	}
	return nil
}

// place is a point of the command line: what may follow a chain of verbs.
type place struct {
	verbs []string // that led here; none at the start
	next  []*kong.Node
	flags []*kong.Flag // of this place, and of those above it
	words []string     // that the first positional argument may be
}

// placesOf lists the places of a grammar, each before those beneath it.
func placesOf(root *kong.Node) []place {
	var all []place
	var visit func(n *kong.Node, verbs []string, above []*kong.Flag)
	visit = func(n *kong.Node, verbs []string, above []*kong.Flag) {
		p := place{verbs: verbs}
		for _, f := range append(append([]*kong.Flag(nil), above...), n.Flags...) {
			if !f.Hidden {
				p.flags = append(p.flags, f)
			}
		}
		if len(n.Positional) > 0 && n.Positional[0].Enum != "" {
			p.words = strings.Split(n.Positional[0].Enum, ",")
		}
		for _, child := range n.Children {
			if child.Type == kong.CommandNode && !child.Hidden {
				p.next = append(p.next, child)
			}
		}
		all = append(all, p)
		for _, child := range p.next {
			visit(child, append(append([]string(nil), verbs...), child.Name), p.flags)
		}
	}
	visit(root, nil, nil)
	return all
}

// candidates are the words that may come next.
func (p place) candidates() string {
	words := append([]string(nil), p.words...)
	for _, n := range p.next {
		words = append(words, n.Name)
	}
	for _, f := range p.flags {
		words = append(words, "--"+f.Name)
	}
	return strings.Join(words, " ")
}

// shellCases writes the arms of a case statement over the verbs so far, the deepest place first,
// since the values of flags may stand among the verbs and only the beginning counts.
func shellCases(w io.Writer, places []place) {
	for i := len(places) - 1; i >= 0; i-- {
		pattern := "*"
		if len(places[i].verbs) > 0 {
			pattern = `"` + strings.Join(places[i].verbs, " ") + ` "*`
		}
		fmt.Fprintf(w, "    %s) words='%s' ;;\n", pattern, places[i].candidates())
	}
}

func bashCompletion(w io.Writer, places []place) {
	fmt.Fprint(w, `# bash completion for rowlock: source this, or put it where your bash looks for completions.
_rowlock() {
  local verbs='' words i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == -* ]] || verbs+="${COMP_WORDS[i]} "
  done
  case $verbs in
`)
	shellCases(w, places)
	fmt.Fprint(w, `  esac
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _rowlock rowlock
`)
}

func zshCompletion(w io.Writer, places []place) {
	fmt.Fprint(w, `#compdef rowlock
# zsh completion for rowlock: save it as _rowlock in a directory of your fpath.
_rowlock() {
  local verbs='' words_ word
  for word in "${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] || verbs+="$word "
  done
  case $verbs in
`)
	// zsh keeps the command line in words, so the candidates go by another name.
	var arms strings.Builder
	shellCases(&arms, places)
	fmt.Fprint(w, strings.ReplaceAll(arms.String(), " words=", " words_="))
	fmt.Fprint(w, `  esac
  compadd -- ${=words_} || _files
}
compdef _rowlock rowlock
`)
}

func fishCompletion(w io.Writer, places []place) {
	fmt.Fprintln(w, "# fish completion for rowlock: save it as rowlock.fish in your completions directory.")
	for _, p := range places {
		condition := fishCondition(p)
		for _, word := range p.words {
			fmt.Fprintf(w, "complete -c rowlock -f -n %s -a %s\n", fishQuote(condition), fishQuote(word))
		}
		for _, n := range p.next {
			fmt.Fprintf(w, "complete -c rowlock -f -n %s -a %s -d %s\n", fishQuote(condition), n.Name, fishQuote(n.Help))
		}
		for _, f := range p.flags {
			takes := " -r"
			if f.IsBool() {
				takes = ""
			}
			fmt.Fprintf(w, "complete -c rowlock -n %s -l %s%s -d %s\n", fishQuote(condition), f.Name, takes, fishQuote(f.Help))
		}
	}
}

// fishCondition holds at a place: its verbs were seen, and none that lead further.
func fishCondition(p place) string {
	var parts []string
	for _, verb := range p.verbs {
		parts = append(parts, "__fish_seen_subcommand_from "+verb)
	}
	if len(p.next) > 0 {
		further := "not __fish_seen_subcommand_from"
		for _, n := range p.next {
			further += " " + n.Name
		}
		parts = append(parts, further)
	}
	return strings.Join(parts, "; and ")
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
