//! Decodes text as pairing programs write it: in Unicode, or in the older code page of their country.

use crate::files::plain;

/// The text of a file: UTF-16 where it says so, UTF-8, else Windows-1251 where it is Cyrillic, else Latin-1. Lines may end as they
/// once did on a Mac.
pub(super) fn text_of(bytes: Vec<u8>) -> String {
    let text = plain::utf_16(&bytes).unwrap_or_else(|| of_code_page(bytes));
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn of_code_page(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let bytes = error.as_bytes();
        let of = if is_cyrillic(bytes) {
            windows_1251
        } else {
            char::from
        };
        bytes.iter().copied().map(of).collect()
    })
}

/// In Cyrillic text whole words are beyond ASCII. In western languages single letters between ASCII letters are.
fn is_cyrillic(bytes: &[u8]) -> bool {
    let is_letter = |byte: u8| matches!(byte, 0xa8 | 0xb8 | 0xc0..);
    let pairs = |one: fn(u8) -> bool| {
        let beside = |pair: &&[u8]| is_letter(pair[0]) && one(pair[1]) || one(pair[0]) && is_letter(pair[1]);
        bytes.windows(2).filter(beside).count()
    };
    pairs(|byte| matches!(byte, 0xa8 | 0xb8 | 0xc0..)) > pairs(|byte| byte.is_ascii_alphabetic())
}

/// Decodes the letters of Windows-1251 in all its languages, the number sign and the quotes. No name has any of the
/// other characters.
fn windows_1251(byte: u8) -> char {
    match byte {
        0xc0.. => char::from_u32(0x0410 + u32::from(byte) - 0xc0).unwrap_or('?'),
        0xa8 => 'Ё',
        0xb8 => 'ё',
        0xb9 => '№',
        0xb2 => 'І',
        0xb3 => 'і',
        0xaf => 'Ї',
        0xbf => 'ї',
        0xaa => 'Є',
        0xba => 'є',
        0xa5 => 'Ґ',
        0xb4 => 'ґ',
        0xa1 => 'Ў',
        0xa2 => 'ў',
        0xa3 => 'Ј',
        0xbc => 'ј',
        0x91 => '‘',
        0x92 => '’',
        0x93 => '“',
        0x94 => '”',
        0x96 => '–',
        0x97 => '—',
        other => char::from(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_several_countries_are_read() {
        let cyrillic = b"1,\xc0\xeb\xb8\xf5\xe8\xed \xcf.,\xd2\xe0\xeb\xfc".to_vec();
        assert_eq!(text_of(cyrillic), "1,Алёхин П.,Таль");
        assert_eq!(text_of(b"1,\xb2\xe2\xe0\xed\xf7\xf3\xea".to_vec()), "1,Іванчук");
        assert_eq!(text_of(b"1,M\xfcller,Sm\xe5".to_vec()), "1,Müller,Små");
        assert_eq!(text_of("1,Алёхин,Müller".into()), "1,Алёхин,Müller");
        assert_eq!(text_of(b"\xf6".to_vec()), "ö");
        let utf_16 = "\u{feff}1\tАлёхин\r\n".encode_utf16().flat_map(u16::to_le_bytes);
        assert_eq!(text_of(utf_16.collect()), "1\tАлёхин\n");
        assert_eq!(text_of(b"board,white\r1,Tal\r".to_vec()), "board,white\n1,Tal\n");
    }
}
