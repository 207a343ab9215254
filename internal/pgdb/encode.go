package pgdb

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

// Types of PostgreSQL, by their numbers in pg_type. Values of these are sent and received in binary form, all others as text.
const (
	typeBool        = 16
	typeBytea       = 17
	typeName        = 19
	typeInt8        = 20
	typeInt2        = 21
	typeInt4        = 23
	typeText        = 25
	typeOID         = 26
	typeFloat8      = 701
	typeVarchar     = 1043
	typeTimestamptz = 1184
	typeUUID        = 2950
)

// element returns the type of the elements of an array; 0 if the type is not an array.
func element(oid uint32) uint32 {
	switch oid {
	case 1000:
		return typeBool
	case 1001:
		return typeBytea
	case 1005:
		return typeInt2
	case 1007:
		return typeInt4
	case 1016:
		return typeInt8
	case 1009:
		return typeText
	case 1185:
		return typeTimestamptz
	case 2951:
		return typeUUID
	}
	return 0
}

const (
	textForm   = int16(0)
	binaryForm = int16(1)
)

// form returns the format in which values of a type are sent and received.
func form(oid uint32) int16 {
	switch oid {
	case typeBool, typeBytea, typeName, typeInt8, typeInt2, typeInt4, typeText, typeOID, typeFloat8, typeVarchar, typeTimestamptz, typeUUID:
		return binaryForm
	}
	if element(oid) != 0 {
		return binaryForm
	}
	return textForm
}

// epoch is the time that the server counts from.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

// encode adds a parameter of a type to buf. null reports that it is NULL and nothing was added.
func encode(buf []byte, oid uint32, value any) (_ []byte, null bool, err error) {
	switch v := value.(type) {
	case nil:
		return buf, true, nil
	case []byte:
		if v == nil {
			return buf, true, nil
		}
		if oid == typeBytea || oid == typeUUID && len(v) == 16 {
			return append(buf, v...), false, nil
		}
	case [16]byte:
		if oid == typeUUID {
			return append(buf, v[:]...), false, nil
		}
	case time.Time:
		if oid == typeTimestamptz {
			return encodeInt(buf, 8, (v.Unix()-epoch)*1e6+int64(v.Nanosecond())/1e3), false, nil
		}
	case [][]byte:
		return encodeArray(buf, oid, v)
	case []string:
		return encodeArray(buf, oid, v)
	case []bool:
		return encodeArray(buf, oid, v)
	case []int16:
		return encodeArray(buf, oid, v)
	case []int32:
		return encodeArray(buf, oid, v)
	case []int64:
		return encodeArray(buf, oid, v)
	case []int:
		return encodeArray(buf, oid, v)
	case []uint32:
		return encodeArray(buf, oid, v)
	case []time.Time:
		return encodeArray(buf, oid, v)
	case [][16]byte:
		return encodeArray(buf, oid, v)
	default:
		return encodeKind(buf, oid, reflect.ValueOf(value))
	}
	return buf, false, fmt.Errorf("a %T cannot be a parameter of the database's type %d", value, oid)
}

// encodeKind is encode by the kind of a type: numbers, texts, pointers, and types that have a name of their own.
func encodeKind(buf []byte, oid uint32, v reflect.Value) (_ []byte, null bool, err error) {
	switch k := v.Kind(); {
	case k == reflect.Pointer && v.IsNil():
		return buf, true, nil
	case k == reflect.Pointer:
		return encode(buf, oid, v.Elem().Interface())
	case k == reflect.String && form(oid) == textForm || k == reflect.String && (oid == typeText || oid == typeVarchar || oid == typeName):
		return append(buf, v.String()...), false, nil
	case k == reflect.Bool && oid == typeBool:
		if v.Bool() {
			return append(buf, 1), false, nil
		}
		return append(buf, 0), false, nil
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return encodeKind(buf, oid, reflect.ValueOf(int64(v.Uint())))
	case v.CanInt():
		n := v.Int()
		switch {
		case oid == typeInt8:
			return encodeInt(buf, 8, n), false, nil
		case oid == typeInt4 && n == int64(int32(n)):
			return encodeInt(buf, 4, n), false, nil
		case oid == typeInt2 && n == int64(int16(n)):
			return encodeInt(buf, 2, n), false, nil
		case oid == typeFloat8:
			return encodeInt(buf, 8, int64(math.Float64bits(float64(n)))), false, nil
		case form(oid) == textForm:
			return strconv.AppendInt(buf, n, 10), false, nil
		}
		return buf, false, fmt.Errorf("the number %d does not fit the database's type %d", n, oid)
	case v.CanFloat() && oid == typeFloat8:
		return encodeInt(buf, 8, int64(math.Float64bits(v.Float()))), false, nil
	case k == reflect.Array && v.CanConvert(reflect.TypeFor[[16]byte]()):
		return encode(buf, oid, v.Convert(reflect.TypeFor[[16]byte]()).Interface())
	case k == reflect.Slice && v.Type().Elem().ConvertibleTo(reflect.TypeFor[[16]byte]()):
		list := make([][16]byte, v.Len())
		for i := range list {
			reflect.Copy(reflect.ValueOf(&list[i]).Elem(), v.Index(i))
		}
		return encodeArray(buf, oid, list)
	}
	return buf, false, fmt.Errorf("a %s cannot be a parameter of the database's type %d", v.Type(), oid)
}

// encodeInt appends the last bytes of a number.
func encodeInt(buf []byte, bytes int, n int64) []byte {
	switch bytes {
	case 2:
		return binary.BigEndian.AppendUint16(buf, uint16(n))
	case 4:
		return binary.BigEndian.AppendUint32(buf, uint32(n))
	}
	return binary.BigEndian.AppendUint64(buf, uint64(n))
}

// encodeArray adds an array of one dimension. nil is NULL.
func encodeArray[T any](buf []byte, oid uint32, list []T) (_ []byte, null bool, err error) {
	if list == nil {
		return buf, true, nil
	}
	buf, err = encodeElements(buf, oid, list, len(list), func(i int) any { return list[i] })
	return buf, false, err
}

// encodeElements is the part of encodeArray that needs no code for each type.
func encodeElements(buf []byte, oid uint32, list any, n int, at func(i int) any) (_ []byte, err error) {
	of := element(oid)
	switch {
	case of == 0:
		return buf, fmt.Errorf("a %T cannot be a parameter of the database's type %d", list, oid)
	case n == 0:
		return encodeInt(encodeInt(encodeInt(buf, 4, 0), 4, 0), 4, int64(of)), nil
	}
	buf = encodeInt(encodeInt(encodeInt(buf, 4, 1), 4, 0), 4, int64(of)) // dimensions, no nulls, type
	buf = encodeInt(encodeInt(buf, 4, int64(n)), 4, 1)                   // elements from 1 on
	for i := range n {
		if buf, err = encodeSized(buf, of, at(i)); err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// encodeSized appends a value after its length, which is -1 for NULL.
func encodeSized(buf []byte, oid uint32, value any) ([]byte, error) {
	start := len(buf)
	buf, null, err := encode(append(buf, 0xff, 0xff, 0xff, 0xff), oid, value)
	if !null {
		binary.BigEndian.PutUint32(buf[start:], uint32(len(buf)-start-4))
	}
	return buf, err
}
