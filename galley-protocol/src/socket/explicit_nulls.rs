//! Objects whose absent fields are written as null.

use serde::ser::{Error, Impossible, Serialize, SerializeMap, SerializeStruct, Serializer};

/// Writes the fields of `row`, a struct, into `map`. Fields that it leaves out become null, so that
/// whoever lays the row over an older one also learns what is no longer there.
///
/// # Errors
/// When `row` is not a struct, or a field cannot be written.
pub(super) fn write_fields<M: SerializeMap>(row: &impl Serialize, map: &mut M) -> Result<(), M::Error> {
    row.serialize(Fields(map))
}

/// A serializer for one struct that keeps what `skip_serializing_if` skips.
struct Fields<'a, M>(&'a mut M);

impl<M: SerializeMap> SerializeStruct for Fields<'_, M> {
    type Ok = ();
    type Error = M::Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), M::Error> {
        self.0.serialize_entry(key, value)
    }

    fn skip_field(&mut self, key: &'static str) -> Result<(), M::Error> {
        self.0.serialize_entry(key, &())
    }

    fn end(self) -> Result<(), M::Error> {
        Ok(())
    }
}

/// Every method but `serialize_struct`: a row is nothing else.
macro_rules! no_row {
    ($($method:ident($($arg:ty),*) -> $ok:ty;)+) => {
        $(fn $method(self, $(_: $arg),*) -> Result<$ok, M::Error> {
            Err(M::Error::custom("a row is an object"))
        })+
    };
}

impl<M: SerializeMap> Serializer for Fields<'_, M> {
    type Ok = ();
    type Error = M::Error;
    type SerializeSeq = Impossible<(), M::Error>;
    type SerializeTuple = Impossible<(), M::Error>;
    type SerializeTupleStruct = Impossible<(), M::Error>;
    type SerializeTupleVariant = Impossible<(), M::Error>;
    type SerializeMap = Impossible<(), M::Error>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Impossible<(), M::Error>;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, M::Error> {
        Ok(self)
    }

    no_row! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), M::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), M::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(self, _: &'static str, _: u32, _: &'static str, _: &T) -> Result<(), M::Error> {
        Err(M::Error::custom("a row is an object"))
    }
}
