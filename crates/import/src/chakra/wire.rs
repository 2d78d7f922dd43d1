//! Decoder for the parts of the protocol buffer format that Chakra traces use.

/// Value of a field in a protocol buffer message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// Error for a damaged message, with the offset of the damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage;

/// Reads a number of variable length from the front of `bytes`.
pub(super) fn varint(bytes: &mut &[u8]) -> Result<u64, Damage> {
    let mut number = 0_u64;
    for place in 0..10 {
        let (&byte, rest) = bytes.split_first().ok_or(Damage)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(7 * place).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Damage)
}

/// Takes a message with its length from the front of `bytes`.
pub(super) fn message<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], Damage> {
    let length = usize::try_from(varint(bytes)?).map_err(|_| Damage)?;
    let (message, rest) = bytes.split_at_checked(length).ok_or(Damage)?;
    *bytes = rest;
    Ok(message)
}

/// Calls `each` with the number and the value of every field of a message.
pub(super) fn fields<'a>(
    mut bytes: &'a [u8],
    mut each: impl FnMut(u64, Value<'a>) -> Result<(), Damage>,
) -> Result<(), Damage> {
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let value = match key & 7 {
            0 => Value::Varint(varint(&mut bytes)?),
            1 => {
                let (head, rest) = bytes.split_first_chunk().ok_or(Damage)?;
                bytes = rest;
                Value::Fixed64(u64::from_le_bytes(*head))
            }
            2 => Value::Bytes(message(&mut bytes)?),
            5 => {
                let (head, rest) = bytes.split_first_chunk().ok_or(Damage)?;
                bytes = rest;
                Value::Fixed32(u32::from_le_bytes(*head))
            }
            _ => return Err(Damage),
        };
        each(key >> 3, value)?;
    }
    Ok(())
}

/// Appends a repeated number of a message: packed, or one number at a time.
pub(super) fn repeated(list: &mut Vec<u64>, value: Value<'_>) -> Result<(), Damage> {
    match value {
        Value::Varint(number) => list.push(number),
        Value::Bytes(mut bytes) => {
            while !bytes.is_empty() {
                list.push(varint(&mut bytes)?);
            }
        }
        _ => return Err(Damage),
    }
    Ok(())
}

/// Reverses the zigzag encoding of a `sint` number.
pub(super) const fn zigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}
