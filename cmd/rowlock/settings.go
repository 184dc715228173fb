package main

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"github.com/alecthomas/kong"
)

// envPrefix begins the environment variable of every setting.
const envPrefix = "ROWLOCK_"

// settingsBytesMax bounds the file of --config.
const settingsBytesMax = 64 << 10

// serveSettings are what a server can be told. Each is a flag, a variable and a key of the file. Holds
// is there so that whoever asks for another store of holds is told that this build has none, and is
// not served by the database instead.
type serveSettings struct {
	Listen          string   `help:"Address to listen on." default:"127.0.0.1:8080" env:"ROWLOCK_LISTEN"`
	DB              string   `help:"Database of sales: sqlite:PATH." default:"sqlite:rowlock.db" env:"ROWLOCK_DB"`
	Holds           string   `help:"Where holds live; omitted, they live in the database." env:"ROWLOCK_HOLDS" placeholder:"URL"`
	CORSOrigin      []string `name:"cors-origin" help:"Origin whose pages may call the API; * for any. Repeatable." env:"ROWLOCK_CORS_ORIGIN" placeholder:"ORIGIN"`
	LimitPerAddress float64  `help:"Writing requests a second that one client address may make; 0 for no limit, as behind a proxy, whose address is everybody's." default:"0" env:"ROWLOCK_LIMIT_PER_ADDRESS"`
	LogFormat       string   `help:"Format of the log on standard error: ${enum}." enum:"text,json" default:"text" env:"ROWLOCK_LOG_FORMAT"`
	LogLevel        string   `help:"Least level that is logged: ${enum}." enum:"debug,info,warn,error" default:"info" env:"ROWLOCK_LOG_LEVEL"`
}

// check judges the settings that the command line's grammar cannot.
func (s *serveSettings) check() error {
	if err := checkListen(s.Listen); err != nil {
		return err
	}
	if _, err := databasePath("--db", s.DB); err != nil {
		return err
	}
	if s.Holds != "" {
		return badSetting("--holds", "this build keeps holds in the database and has no store for %s; leave it out", scheme(s.Holds))
	}
	for _, origin := range s.CORSOrigin {
		if !validOrigin(origin) {
			return badSetting("--cors-origin", "%q is no origin such as https://tickets.example.com, and not *", origin)
		}
	}
	if s.LimitPerAddress < 0 || math.IsNaN(s.LimitPerAddress) || math.IsInf(s.LimitPerAddress, 0) {
		return badSetting("--limit-per-address", "must be a number of requests a second, or 0 for no limit")
	}
	return nil
}

// print writes the effective settings as a file that --config reads. Nothing in it is secret: the
// database is a path, and URLs with passwords do not get past check.
func (s *serveSettings) print(w io.Writer) error {
	return toml.NewEncoder(w).Encode(settingsFile{
		Listen: s.Listen, DB: s.DB, CORSOrigin: slices.Clone(s.CORSOrigin), LimitPerAddress: s.LimitPerAddress,
		LogFormat: s.LogFormat, LogLevel: s.LogLevel,
	})
}

// settingsFile is the file of --config.
type settingsFile struct {
	Listen          string   `toml:"listen"`
	DB              string   `toml:"db"`
	Holds           string   `toml:"holds,omitempty"`
	CORSOrigin      []string `toml:"cors_origin"`
	LimitPerAddress float64  `toml:"limit_per_address"`
	LogFormat       string   `toml:"log_format"`
	LogLevel        string   `toml:"log_level"`
}

// value answers a key as the text that the command line would have had, and nil for what is no key.
func (f *settingsFile) value(key string) any {
	switch key {
	case "listen":
		return f.Listen
	case "db":
		return f.DB
	case "holds":
		return f.Holds
	case "cors_origin":
		return strings.Join(f.CORSOrigin, ",")
	case "limit_per_address":
		return strconv.FormatFloat(f.LimitPerAddress, 'g', -1, 64)
	case "log_format":
		return f.LogFormat
	case "log_level":
		return f.LogLevel
	}
	return nil
}

// configPath finds the settings file before the command line is parsed, since parsing needs it. It is
// empty when none is named.
func configPath(args []string) (string, error) {
	var named []string
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if path, ok := strings.CutPrefix(arg, "--config="); ok {
			named = append(named, path)
		}
		if arg == "--config" && i+1 < len(args) {
			named = append(named, args[i+1])
		}
	}
	switch {
	case len(named) == 0:
		return os.Getenv(envPrefix + "CONFIG"), nil
	case len(named) > 1:
		return "", badSetting("--config", "is given %d times; one file has all the settings", len(named))
	case named[0] == "":
		return "", badSetting("--config", "needs the path of a file")
	}
	return named[0], nil
}

// readSettingsFile reads a settings file. A key that is not a setting is an error, for it is most
// often a misspelt one that would otherwise be without effect.
func readSettingsFile(path string) (kong.Resolver, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, badSetting("--config", "%w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, settingsBytesMax+1))
	if err != nil {
		return nil, badSetting("--config", "%w", err)
	}
	if len(data) > settingsBytesMax {
		return nil, badSetting("--config", "%s is longer than %d bytes", path, settingsBytesMax)
	}
	if !utf8.Valid(data) {
		return nil, badSetting("--config", "%s is not text in UTF-8; save it as UTF-8, not as UTF-16 or in another encoding", path)
	}
	var file settingsFile
	meta, err := toml.Decode(string(data), &file)
	if err != nil {
		return nil, badSetting("--config", "%s: %w", path, err)
	}
	// Not only what is undecoded: the decoder takes Listen for listen, and then nothing finds it.
	for _, key := range meta.Keys() {
		if len(key) != 1 || file.value(key[0]) == nil {
			return nil, badSetting("--config", "%s: there is no setting %q; names are in lower case", path, key.String())
		}
	}
	return resolver(&file, meta), nil
}

// resolver gives flags their values from the file. Only settings with a variable are found in it:
// a race must never take the database of the server that the file is for.
func resolver(file *settingsFile, meta toml.MetaData) kong.ResolverFunc {
	return func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		for _, variable := range flag.Envs {
			name, ours := strings.CutPrefix(variable, envPrefix)
			if _, set := os.LookupEnv(variable); set || !ours {
				return nil, nil // the environment wins
			}
			if key := strings.ToLower(name); meta.IsDefined(key) {
				return file.value(key), nil
			}
		}
		return nil, nil
	}
}

func checkListen(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return badSetting("--listen", "%q is no address such as 127.0.0.1:8080", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return badSetting("--listen", "%q is no port between 0 and 65535", port)
	}
	return nil
}

// validOrigin reports whether an origin is * or a scheme and a host, which is all a browser sends.
func validOrigin(origin string) bool {
	if origin == "*" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.String() == u.Scheme+"://"+u.Host && u.User == nil
}

// newLog makes the log of a server.
func newLog(w io.Writer, format, level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, badSetting("--log-level", "%w", err)
	}
	options := &slog.HandlerOptions{Level: least}
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	}
	return nil, fmt.Errorf("log format %q", format)
}
