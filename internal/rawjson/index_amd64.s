#include "textflag.h"

// Constants, one 32-byte vector each.
DATA quote<>+0(SB)/8, $0x2222222222222222
DATA quote<>+8(SB)/8, $0x2222222222222222
DATA quote<>+16(SB)/8, $0x2222222222222222
DATA quote<>+24(SB)/8, $0x2222222222222222
GLOBL quote<>(SB), RODATA|NOPTR, $32

DATA slash<>+0(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA slash<>+8(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA slash<>+16(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA slash<>+24(SB)/8, $0x5c5c5c5c5c5c5c5c
GLOBL slash<>(SB), RODATA|NOPTR, $32

DATA control<>+0(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA control<>+8(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA control<>+16(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA control<>+24(SB)/8, $0x1f1f1f1f1f1f1f1f
GLOBL control<>(SB), RODATA|NOPTR, $32

// The letters that may follow a backslash, by the lower half of their codes: r t f \ n /. The quote has the same half as r
// and is known anyway; b has it too, and is left to the caller, as u is. The other bytes match nothing.
DATA simple<>+0(SB)/8, $0xff66ff74ff72ffff
DATA simple<>+8(SB)/8, $0x2f6eff5cffffffff
DATA simple<>+16(SB)/8, $0xff66ff74ff72ffff
DATA simple<>+24(SB)/8, $0x2f6eff5cffffffff
GLOBL simple<>(SB), RODATA|NOPTR, $32

// MASK collects one bit of each byte of a and b in to, without those of bytes that were done before.
#define MASK(a, b, to) \
	VPMOVMSKB a, to      \
	VPMOVMSKB b, BX      \
	SHLQ      $32, BX    \
	ORQ       BX, to     \
	SHRXQ     CX, to, to

// PLACE writes the position of the lowest quote of AX, and removes it from AX.
#define PLACE(at) \
	TZCNTQ AX, BX     \
	ADDL   R13, BX    \
	MOVL   BX, at(DI) \
	BLSRQ  AX, AX

// func indexAVX2(p *byte, n int, base uint32, out *uint32, s *vectorState) (quotes int)
//
// SI points to the block, R8 is the number of bytes from there to the end, R13 the position of the block, DI the next output, R9
// is 1 if the block before escapes the first byte. Y7 is the minimum of all bytes, which shows control characters, and Y6 has the
// bits of all bytes, which shows those that are not ASCII. CX is 0; for an incomplete last block the 64 bytes before the end are
// used, and CX is how many of them were done before.
TEXT ·indexAVX2(SB), NOSPLIT, $0-48
	MOVQ     p+0(FP), SI
	MOVQ     n+8(FP), R8
	MOVL     base+16(FP), R13
	MOVQ     out+24(FP), DI
	MOVQ     s+32(FP), R14
	MOVQ     (R14), R9
	MOVQ     $0xaaaaaaaaaaaaaaaa, R10
	VMOVDQU  quote<>(SB), Y8
	VMOVDQU  slash<>(SB), Y9
	VMOVDQU  simple<>(SB), Y10
	VPCMPEQB Y7, Y7, Y7
	VPXOR    Y6, Y6, Y6
	XORL     CX, CX
	CMPQ     R8, $64
	JLT      rest

block:
	// Prefetch: the next bytes of a mapped file are in no cache. After the end this does nothing.
	PREFETCHT0 4096(SI)

	VMOVDQU  (SI), Y0
	VMOVDQU  32(SI), Y1
	VPMINUB  Y0, Y7, Y7
	VPMINUB  Y1, Y7, Y7
	VPOR     Y0, Y6, Y6
	VPOR     Y1, Y6, Y6
	VPCMPEQB Y0, Y9, Y2
	VPCMPEQB Y1, Y9, Y3
	VPCMPEQB Y0, Y8, Y4
	VPCMPEQB Y1, Y8, Y5
	MASK(Y2, Y3, DX)
	MASK(Y4, Y5, AX)
	MOVQ     DX, R12
	ORQ      R9, R12

	// DX are the backslashes. In a run of them every second one is escaped itself: subtracting the bits of the run from the odd
	// bits flips these from the beginning of the run to its end.
	ANDNQ DX, R9, R11
	LEAQ  (R11)(R11*1), BX
	ORQ   R10, BX
	SUBQ  R11, BX
	XORQ  R10, BX
	XORQ  BX, R12          // all bytes that are escaped
	ANDQ  DX, BX           // the backslashes that escape
	MOVQ  BX, R9
	SHRQ  $63, R9

	VPSHUFB  Y0, Y10, Y2
	VPSHUFB  Y1, Y10, Y3
	VPCMPEQB Y0, Y2, Y2
	VPCMPEQB Y1, Y3, Y3
	MASK(Y2, Y3, DX)
	ORQ      AX, DX
	ANDNQ    AX, R12, AX   // quotes that are not escaped
	ANDNQ    R12, DX, DX   // escapes that are not simple
	JNZ      odd

quotes:
	TESTQ   AX, AX
	JZ      next
	POPCNTQ AX, R12
	PLACE(0)
	PLACE(4)
	PLACE(8)
	PLACE(12)
	PLACE(16)
	PLACE(20)
	PLACE(24)
	PLACE(28)
	CMPQ    R12, $8
	JGT     many

counted:
	LEAQ (DI)(R12*4), DI

next:
	ADDQ $64, SI
	ADDL $64, R13
	SUBQ $64, R8
	CMPQ R8, $64
	JGE  block

rest:
	TESTQ R8, R8
	JLE   done
	MOVQ  $64, CX
	SUBQ  R8, CX
	SUBQ  CX, SI
	JMP   block

many:
	MOVQ DI, DX

more:
	ADDQ  $32, DI
	PLACE(0)
	PLACE(4)
	PLACE(8)
	PLACE(12)
	PLACE(16)
	PLACE(20)
	PLACE(24)
	PLACE(28)
	TESTQ AX, AX
	JNZ   more
	MOVQ  DX, DI
	JMP   counted

odd:
	// s.odd[s.odds] = oddBlock{DX, R13}
	MOVQ 24(R14), BX
	INCQ 24(R14)
	SHLQ $4, BX
	MOVQ DX, 32(R14)(BX*1)
	MOVQ R13, 40(R14)(BX*1)
	JMP  quotes

done:
	VMOVDQU   control<>(SB), Y0
	VPMINUB   Y7, Y0, Y0
	VPCMPEQB  Y7, Y0, Y0
	VPMOVMSKB Y0, AX
	MOVQ      R9, (R14)
	MOVQ      AX, 8(R14)
	VPMOVMSKB Y6, AX
	MOVQ      AX, 16(R14)
	SUBQ      out+24(FP), DI
	SHRQ      $2, DI
	MOVQ      DI, quotes+40(FP)
	VZEROUPPER
	RET
