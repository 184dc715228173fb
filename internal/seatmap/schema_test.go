package seatmap

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schemaFile = "../../docs/seatmap.schema.json"

// failer is what testing.TB and rapid.T have in common here.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// instance reads JSON the way the schema library wants it, numbers exact.
func instance(t failer, data []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func schemaDocument(t testing.TB) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(schemaFile))
	if err != nil {
		t.Fatal(err)
	}
	return instance(t, data).(map[string]any)
}

func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc := schemaDocument(t)
	compiler := jsonschema.NewCompiler()
	id := doc["$id"].(string)
	if err := compiler.AddResource(id, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestSchemaTakesTheDemoMaps(t *testing.T) {
	schema := compileSchema(t)
	for name, m := range map[string]*Map{"Theatre": Theatre(), "Grid": Grid(60, 20)} {
		data, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance(t, data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaAgreesWithParse(t *testing.T) {
	schema := compileSchema(t)
	for _, tt := range refusals() {
		if len(tt.data) > 1_000_000 {
			continue // the schema's library takes a minute for 200,000 seats, and TestSchemaHasTheBoundOfSeats is exact
		}
		t.Run(tt.name, func(t *testing.T) {
			err := schema.Validate(instance(t, []byte(tt.data)))
			if refused := err != nil; refused == tt.notInSchema {
				t.Errorf("the schema refuses it: %v; want %v", err, !tt.notInSchema)
			}
		})
	}
}

func TestSchemaHasTheBoundOfSeats(t *testing.T) {
	defs := schemaDocument(t)["$defs"].(map[string]any)
	seats := defs["row"].(map[string]any)["properties"].(map[string]any)["seats"].(map[string]any)
	if got := fmt.Sprint(seats["maxItems"]); got != strconv.Itoa(seatsMax) {
		t.Errorf("the schema takes %s seats in a row, and Parse %d", got, seatsMax)
	}
}

// The schema and the Go types name the same members, and the schema says what
// each of them is for.
func TestSchemaDescribesEveryField(t *testing.T) {
	doc := schemaDocument(t)
	defs := doc["$defs"].(map[string]any)
	for name, typ := range map[string]reflect.Type{
		"":        reflect.TypeFor[Map](),
		"point":   reflect.TypeFor[Point](),
		"section": reflect.TypeFor[Section](),
		"row":     reflect.TypeFor[Row](),
		"seat":    reflect.TypeFor[Seat](),
		"area":    reflect.TypeFor[Area](),
	} {
		object := doc
		if name != "" {
			object = defs[name].(map[string]any)
		}
		properties := object["properties"].(map[string]any)
		var inSchema, inGo []string
		for member, p := range properties {
			inSchema = append(inSchema, member)
			if text, _ := p.(map[string]any)["description"].(string); !strings.HasSuffix(text, ".") {
				t.Errorf("%s %s: described as %q", name, member, text)
			}
		}
		for field := range typ.Fields() {
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			inGo = append(inGo, tag)
		}
		slices.Sort(inSchema)
		slices.Sort(inGo)
		if !slices.Equal(inSchema, inGo) {
			t.Errorf("%s: the schema has %q, Go has %q", name, inSchema, inGo)
		}
		if text, _ := object["description"].(string); text == "" || object["additionalProperties"] != false {
			t.Errorf("%s: described as %q, additionalProperties %v", name, text, object["additionalProperties"])
		}
	}
}
