#include "textflag.h"

// Sixteen times the bit of small letters; the first letter and digit; how many there are behind the first.
DATA edgesSmall<>+0(SB)/8, $0x2020202020202020
DATA edgesSmall<>+8(SB)/8, $0x2020202020202020
GLOBL edgesSmall<>(SB), RODATA|NOPTR, $16
DATA edgesA<>+0(SB)/8, $0x6161616161616161
DATA edgesA<>+8(SB)/8, $0x6161616161616161
GLOBL edgesA<>(SB), RODATA|NOPTR, $16
DATA edgesZ<>+0(SB)/8, $0x1919191919191919
DATA edgesZ<>+8(SB)/8, $0x1919191919191919
GLOBL edgesZ<>(SB), RODATA|NOPTR, $16
DATA edges0<>+0(SB)/8, $0x3030303030303030
DATA edges0<>+8(SB)/8, $0x3030303030303030
GLOBL edges0<>(SB), RODATA|NOPTR, $16
DATA edges9<>+0(SB)/8, $0x0909090909090909
DATA edges9<>+8(SB)/8, $0x0909090909090909
GLOBL edges9<>(SB), RODATA|NOPTR, $16

// WORD leaves in mask a bit for each of the 16 bytes at off that is a letter, a digit or beyond ASCII. A byte is in a range
// when what it is above the first of it is not above the number of the rest: when it is the lesser of the two.
#define WORD(off, mask) \
	MOVOU    off(SI), X0 \
	MOVO     X0, X1      \
	MOVO     X0, X3      \
	POR      X11, X1     \
	PSUBB    X12, X1     \
	MOVO     X1, X2      \
	PMINUB   X13, X2     \
	PCMPEQB  X1, X2      \
	PSUBB    X14, X3     \
	MOVO     X3, X4      \
	PMINUB   X10, X4     \
	PCMPEQB  X3, X4      \
	POR      X4, X2      \
	POR      X0, X2      \
	PMOVMSKB X2, mask

// func findEdgesSSE2(text *byte, blocks, base, inside int, out *int) int
//
// SI is at the block, DX is its place, CX the blocks that are left, DI where the next edge goes, R8 the bit before the block.
TEXT ·findEdgesSSE2(SB), NOSPLIT, $0-48
	MOVQ  text+0(FP), SI
	MOVQ  blocks+8(FP), CX
	MOVQ  base+16(FP), DX
	MOVQ  inside+24(FP), R8
	MOVQ  out+32(FP), DI
	MOVQ  DI, R9
	MOVOU edgesSmall<>(SB), X11
	MOVOU edgesA<>(SB), X12
	MOVOU edgesZ<>(SB), X13
	MOVOU edges0<>(SB), X14
	MOVOU edges9<>(SB), X10

block:
	WORD(0, AX)
	WORD(16, BX)
	WORD(32, R10)
	WORD(48, R11)
	SHLQ $16, BX
	SHLQ $32, R10
	SHLQ $48, R11
	ORQ  BX, AX
	ORQ  R11, R10
	ORQ  R10, AX

	// BX becomes the bits that are not like the one before
	LEAQ (AX)(AX*1), BX
	ORQ  R8, BX
	MOVQ AX, R8
	SHRQ $63, R8
	XORQ AX, BX
	JZ   next

edge:
	BSFQ BX, R10
	ADDQ DX, R10
	MOVQ R10, (DI)
	ADDQ $8, DI
	LEAQ -1(BX), R11
	ANDQ R11, BX
	JNZ  edge

next:
	ADDQ $64, SI
	ADDQ $64, DX
	DECQ CX
	JNZ  block
	SUBQ R9, DI
	SHRQ $3, DI
	MOVQ DI, ret+40(FP)
	RET
