//! Packed bodies, written without a compressor.

/// A gzip file (RFC 1952) of one fixed block (RFC 1951): a space, and copies of it that make about `bytes`. Its end is
/// missing, which nobody reaches who stops at a limit.
pub(super) fn gzip_bomb(bytes: usize) -> Vec<u8> {
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let (mut waiting, mut count) = (0_u32, 0);
    let mut push = |bits: &str| {
        for bit in bits.bytes() {
            waiting |= u32::from(bit == b'1') << count;
            count += 1;
            if count == 8 {
                packed.push(u8::try_from(waiting).unwrap());
                (waiting, count) = (0, 0);
            }
        }
    };
    // Last block, fixed codes; then the literal 32 (0x30 + 32, most significant bit first).
    push("1");
    push("10");
    push("01010000");
    // Length 258 is code 285, distance 1 is code 0.
    for _ in 0..bytes / 258 {
        push("11000101");
        push("00000");
    }
    packed
}

/// A zstd frame (RFC 8878) of blocks that repeat one space: 128 KiB for four bytes.
pub(super) fn zstd_bomb(bytes: usize) -> Vec<u8> {
    const BLOCK: usize = 128 * 1024;
    // Magic number; no checksum, no size, a window of 1 MiB.
    let mut packed = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 10 << 3];
    let blocks = bytes / BLOCK;
    for number in 1..=blocks {
        let is_last = u32::from(number == blocks);
        let header = is_last | 1 << 1 | u32::try_from(BLOCK).unwrap() << 3;
        packed.extend(&header.to_le_bytes()[..3]);
        packed.push(b' ');
    }
    packed
}
