#include "textflag.h"

// BYTES fills y, whose lower half is x, with a byte.
#define BYTES(c, y, x) \
	MOVL         c, AX \
	VMOVD        AX, x \
	VPBROADCASTB x, y

// func unescapeAVX2(dst, src *byte, n int, meanings *[256]byte) (read, written int)
//
// SI is where reading is, DI where writing is, R11 the last place from which 33 bytes can be read: 32, and what the last of
// them escapes.
TEXT ·unescapeAVX2(SB), NOSPLIT, $0-48
	MOVQ    dst+0(FP), DI
	MOVQ    src+8(FP), SI
	MOVQ    n+16(FP), R11
	MOVQ    meanings+24(FP), R8
	MOVQ    SI, R9
	MOVQ    DI, R10
	LEAQ    -33(SI)(R11*1), R11
	BYTES($0x22, Y8, X8)  // quote
	BYTES($0x5c, Y9, X9)  // backslash
	BYTES($0x1f, Y10, X10) // the last control character

next:
	CMPQ      SI, R11
	JHI       done
	VMOVDQU   (SI), Y0
	VMOVDQU   Y0, (DI)
	VPCMPEQB  Y0, Y8, Y1
	VPCMPEQB  Y0, Y9, Y2
	VPMINUB   Y0, Y10, Y3
	VPCMPEQB  Y0, Y3, Y3
	VPOR      Y1, Y2, Y1
	VPOR      Y1, Y3, Y1
	VPMOVMSKB Y1, AX
	TESTL     AX, AX
	JNZ       special
	ADDQ      $32, SI
	ADDQ      $32, DI
	JMP       next

special:
	// What was written from there on is written again.
	TZCNTL  AX, AX
	ADDQ    AX, SI
	ADDQ    AX, DI
	CMPB    (SI), $0x5c
	JNE     done
	MOVBLZX 1(SI), BX
	MOVBLZX (R8)(BX*1), BX
	TESTL   BX, BX
	JZ      done
	MOVB    BX, (DI)
	ADDQ    $2, SI
	INCQ    DI
	JMP     next

done:
	VZEROUPPER
	SUBQ R9, SI
	SUBQ R10, DI
	MOVQ SI, read+32(FP)
	MOVQ DI, written+40(FP)
	RET
