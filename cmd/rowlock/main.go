// Command rowlock is the one binary of Rowlock: it serves, demonstrates, races, measures, audits and
// looks after a database, a file a verb. It is also where everything is wired: stores are opened by
// their URL here and nowhere else.
//
// Exit codes: 0 for success, 1 for a failure or a broken promise, 2 for a setting or an argument
// that cannot be used. Every error is one line on standard error that names the setting.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	_ "time/tzdata" // events name IANA zones, and a small machine may have no zone files

	"github.com/alecthomas/kong"
)

// The exit codes of the command.
const (
	exitOK      = 0
	exitFailure = 1
	exitSetting = 2
)

// command is the whole command line. Settings that may come from the environment or the file of
// --config name their variable; the file's key is the same word in lower case without the prefix. A
// placeholder is how the help names a flag's value.
type command struct {
	Config string `help:"TOML file with settings. Flags win over the environment, and that over the file." env:"ROWLOCK_CONFIG" placeholder:"FILE"`

	Serve      serveCommand      `cmd:"" help:"Serve the API and the pages."`
	Demo       demoCommand       `cmd:"" help:"Serve a synthetic theatre that is on sale, made once."`
	Race       raceCommand       `cmd:"" help:"Run every race against a server and prove the promises."`
	Bench      benchCommand      `cmd:"" help:"Run bounded load scenarios and measure them."`
	BenchArm   benchArmCommand   `cmd:"" hidden:"" help:"Be one server of a bench."`
	Audit      auditCommand      `cmd:"" help:"Prove the promises on a database, also of a running server."`
	Migrate    migrateCommand    `cmd:"" help:"Create a database or bring it to this version."`
	Key        keyCommand        `cmd:"" help:"Create, list and revoke API keys."`
	Export     exportCommand     `cmd:"" help:"Write a map, or a whole event without its buyers, to a file."`
	Import     importCommand     `cmd:"" help:"Make a venue, its map and a draft of an event from such a file."`
	Generate   generateCommand   `cmd:"" help:"Write the map of a synthetic venue of any size."`
	Backup     backupCommand     `cmd:"" help:"Copy a database to a new file, also of a running server."`
	Version    versionCommand    `cmd:"" help:"Print the version."`
	Completion completionCommand `cmd:"" help:"Print a completion script for a shell."`
}

// streams are where a verb reads what is piped to it and writes: results to out, everything about them to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// whileRead returns a context that ends when one of the streams has lost its reader, and the streams
// to write to so that this is noticed. The function releases the context.
func (s streams) whileRead(ctx context.Context) (context.Context, streams, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	return ctx, streams{in: s.in, out: &readStream{s.out, stop}, err: &readStream{s.err, stop}}, stop
}

// readStream calls stop when what it writes to has no reader any more.
type readStream struct {
	io.Writer

	stop context.CancelFunc
}

func (r *readStream) Write(p []byte) (int, error) {
	n, err := r.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		r.stop()
	}
	return n, err
}

// settingError is an argument or setting that cannot be used. It ends the command with exitSetting.
type settingError struct{ err error }

func (e *settingError) Error() string { return e.err.Error() }
func (e *settingError) Unwrap() error { return e.err }

// badSetting makes a settingError that begins with the setting's name.
func badSetting(setting, format string, args ...any) error {
	return &settingError{fmt.Errorf(setting+": "+format, args...)}
}

// earlyExit carries kong's wish to end the process (after --help) up to run, which returns it.
type earlyExit int

// gcPercent lets garbage grow to some times what is alive, which is little: a tenth of the CPU time of a
// loaded server went into collecting. GOGC says otherwise.
const gcPercent = 400

func main() {
	asked := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // under nohup, a terminal that closes is no reason to stop
		asked = append(asked, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), asked...)
	// The first signal asks politely; with the handler gone, the second ends the process.
	context.AfterFunc(ctx, stop)
	// Whoever reads the output may leave, as head does. That makes writing fail, and must not end the
	// process on the spot: a server goes on without a log, and a race takes its database away.
	signal.Ignore(syscall.SIGPIPE)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, s streams) (code int) {
	defer func() {
		switch early := recover().(type) {
		case nil:
		case earlyExit:
			code = int(early)
		default:
			panic(early)
		}
	}()
	err := execute(ctx, args, s)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(s.err, "rowlock: "+oneLine(err))
	if _, bad := errors.AsType[*settingError](err); bad {
		return exitSetting
	}
	return exitFailure
}

func execute(ctx context.Context, args []string, s streams) error {
	options := []kong.Option{
		kong.Name("rowlock"),
		kong.Description("Rowlock sells every seat exactly once."),
		kong.Writers(s.out, s.err),
		kong.Exit(func(code int) { panic(earlyExit(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(s),
	}
	path, err := configPath(args)
	if err != nil {
		return err
	}
	if path != "" {
		file, err := readSettingsFile(path)
		if err != nil {
			return err
		}
		options = append(options, kong.Resolvers(file))
	}
	parser, err := kong.New(new(command), options...)
	if err != nil {
		return fmt.Errorf("command line: %w", err)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return &settingError{err}
	}
	return parsed.Run()
}

// oneLine flattens an error to the one line that is promised.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
