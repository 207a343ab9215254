#include "textflag.h"

// PAIR sets a bit in mask for each of the 32 positions at off where the pair begins.
#define PAIR(off, u, v, w, mask) \
	VMOVDQU   off(SI), u       \
	VMOVDQU   off(SI)(DX*1), v \
	VPCMPEQB  u, Y0, w         \
	VPCMPEQB  u, Y1, u         \
	VPOR      u, w, u          \
	VPCMPEQB  v, Y2, w         \
	VPCMPEQB  v, Y3, v         \
	VPOR      v, w, v          \
	VPAND     u, v, u          \
	VPMOVMSKB u, mask

// func pairAVX2(p *byte, n, distance int, pattern uint32) (at int)
//
// SI points to the block, CX is the number of positions from there to the end, AX the position of the block.
TEXT ·pairAVX2(SB), NOSPLIT, $0-40
	MOVQ         p+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVQ         distance+16(FP), DX
	MOVL         pattern+24(FP), R8
	VMOVD        R8, X0
	VPSRLDQ      $1, X0, X1
	VPSRLDQ      $2, X0, X2
	VPSRLDQ      $3, X0, X3
	VPBROADCASTB X0, Y0
	VPBROADCASTB X1, Y1
	VPBROADCASTB X2, Y2
	VPBROADCASTB X3, Y3
	XORQ         AX, AX

two:
	CMPQ CX, $64
	JLT  one
	PAIR(0, Y4, Y5, Y6, R9)
	PAIR(32, Y7, Y8, Y9, R10)
	SHLQ $32, R10
	ORQ  R10, R9
	JNZ  found
	ADDQ $64, SI
	ADDQ $64, AX
	SUBQ $64, CX
	JMP  two

one:
	TESTQ CX, CX
	JZ    none
	PAIR(0, Y4, Y5, Y6, R9)
	TESTQ R9, R9
	JNZ   found
	ADDQ  $32, AX

none:
	VZEROUPPER
	MOVQ AX, at+32(FP)
	RET

found:
	TZCNTQ R9, R9
	ADDQ   R9, AX
	VZEROUPPER
	MOVQ   AX, at+32(FP)
	RET
