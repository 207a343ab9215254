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

DATA letterU<>+0(SB)/8, $0x7575757575757575
DATA letterU<>+8(SB)/8, $0x7575757575757575
DATA letterU<>+16(SB)/8, $0x7575757575757575
DATA letterU<>+24(SB)/8, $0x7575757575757575
GLOBL letterU<>(SB), RODATA|NOPTR, $32

DATA nibble<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA nibble<>+8(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA nibble<>+16(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA nibble<>+24(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL nibble<>(SB), RODATA|NOPTR, $32

// A byte may follow a backslash when low[byte&15] & high[byte>>4] is not zero. One bit stands for each of the high
// nibbles 2 (" /), 5 (\), 6 (b f n) and 7 (r t u).
//   low nibble: 2 → 2,6,7   4 → 7   5 → 7   6 → 6   c → 5   e → 6   f → 2
DATA low<>+0(SB)/8, $0x00040808000d0000
DATA low<>+8(SB)/8, $0x0104000200000000
DATA low<>+16(SB)/8, $0x00040808000d0000
DATA low<>+24(SB)/8, $0x0104000200000000
GLOBL low<>(SB), RODATA|NOPTR, $32

DATA high<>+0(SB)/8, $0x0804020000010000
DATA high<>+8(SB)/8, $0x0000000000000000
DATA high<>+16(SB)/8, $0x0804020000010000
DATA high<>+24(SB)/8, $0x0000000000000000
GLOBL high<>(SB), RODATA|NOPTR, $32

// MASK compares two halves and leaves the 64-bit mask in DX.
#define MASK(a, b) \
	VPMOVMSKB a, DX  \
	VPMOVMSKB b, CX  \
	SHLQ      $32, CX \
	ORQ       CX, DX

// func classifyAVX2(p *byte, n int, out *masks)
TEXT ·classifyAVX2(SB), NOSPLIT, $0-24
	MOVQ    p+0(FP), SI
	MOVQ    n+8(FP), R8
	MOVQ    out+16(FP), DI
	VMOVDQU quote<>(SB), Y8
	VMOVDQU slash<>(SB), Y9
	VMOVDQU control<>(SB), Y10
	VMOVDQU letterU<>(SB), Y11
	VMOVDQU nibble<>(SB), Y12
	VMOVDQU low<>(SB), Y13
	VMOVDQU high<>(SB), Y14
	VPXOR   Y15, Y15, Y15

loop:
	TESTQ   R8, R8
	JLE     done
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1

	VPCMPEQB Y0, Y8, Y2
	VPCMPEQB Y1, Y8, Y3
	MASK(Y2, Y3)
	MOVQ     DX, (DI)

	VPCMPEQB Y0, Y9, Y2
	VPCMPEQB Y1, Y9, Y3
	MASK(Y2, Y3)
	MOVQ     DX, 8(DI)

	VPMINUB  Y0, Y10, Y2
	VPMINUB  Y1, Y10, Y3
	VPCMPEQB Y0, Y2, Y2
	VPCMPEQB Y1, Y3, Y3
	MASK(Y2, Y3)
	MOVQ     DX, 16(DI)

	VPCMPEQB Y0, Y11, Y2
	VPCMPEQB Y1, Y11, Y3
	MASK(Y2, Y3)
	MOVQ     DX, 24(DI)

	VPSRLW   $4, Y0, Y2
	VPSRLW   $4, Y1, Y3
	VPAND    Y12, Y2, Y2
	VPAND    Y12, Y3, Y3
	VPSHUFB  Y2, Y14, Y2
	VPSHUFB  Y3, Y14, Y3
	VPSHUFB  Y0, Y13, Y4
	VPSHUFB  Y1, Y13, Y5
	VPAND    Y2, Y4, Y2
	VPAND    Y3, Y5, Y3
	VPCMPEQB Y15, Y2, Y2
	VPCMPEQB Y15, Y3, Y3
	MASK(Y2, Y3)
	MOVQ     DX, 32(DI)

	ADDQ $64, SI
	ADDQ $40, DI
	DECQ R8
	JMP  loop

done:
	VZEROUPPER
	RET
