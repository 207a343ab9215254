package redact

import (
	"slices"
	"sync"
)

// kind is a row of the table of secrets. It has shapes, or keywords with an expression.
type kind struct {
	name     string
	shapes   []string
	keywords []string
	find     expression
	about    string // description of what it looks like, for people; shapes need none
}

// at is an expression in Go code.
type at func(text string, at, end int) (span, bool)

func (f at) match(text string, at, end int) (span, bool) { return f(text, at, end) }

// kinds is in the order of precedence: keys with a prefix of their own, then secrets with a structure, then those that only a name beside
// them reveals. Bounds are a little wider than what providers document today, since providers lengthen their keys. The list is made when it
// is first used.
var kinds = sync.OnceValue(func() []kind { return slices.Concat(providers, models, structured, named) })

// providers are those of code hosting, clouds, payment, mail and the like.
var providers = []kind{
	{name: "aws access key", shapes: []string{`AKIA[A-Z0-9]{16}`, `ASIA[A-Z0-9]{16}`, `ABIA[A-Z0-9]{16}`, `ACCA[A-Z0-9]{16}`, `A3T[A-Z0-9]{17}`}},
	{name: "aws bedrock key", shapes: []string{`ABSK[\w+/=-]{90,}`, `bedrock-api-key-[\w+/-]{60,}`}},
	{name: "aws mws token", shapes: []string{`amzn.mws.[\h-]{36}`}},
	{name: "treeline token", shapes: []string{`treeline_[a-z2-7]{52}`}},
	{name: "github personal token", shapes: []string{`ghp_[A-Za-z0-9]{30,}`}},
	{name: "github oauth token", shapes: []string{`gho_[A-Za-z0-9]{30,}`}},
	{name: "github user token", shapes: []string{`ghu_[A-Za-z0-9]{30,}`}},
	{name: "github app token", shapes: []string{`ghs_[\w.-]{30,}`}},
	{name: "github refresh token", shapes: []string{`ghr_[A-Za-z0-9]{30,}`}},
	{name: "github fine-grained token", shapes: []string{`github_pat_[\w]{50,}`}},
	{name: "gitlab personal token", shapes: []string{`glpat-[\w.-]{20,}`}},
	{name: "gitlab deploy token", shapes: []string{`gldt-[\w.-]{20,}`}},
	{name: "gitlab runner token", shapes: []string{`glrt-[\w.-]{20,}`, `glrtr-[\w.-]{20,}`, `GR1348941[\w-]{20,}`}},
	{name: "gitlab job token", shapes: []string{`glcbt-[\w.-]{20,}`}},
	{name: "gitlab trigger token", shapes: []string{`glptt-[\w.-]{20,}`}},
	{name: "gitlab feed token", shapes: []string{`glft-[\w.-]{20,}`}},
	{name: "gitlab mail token", shapes: []string{`glimt-[\w.-]{20,}`}},
	{name: "gitlab agent token", shapes: []string{`glagent-[\w.-]{20,}`}},
	{name: "gitlab oauth secret", shapes: []string{`gloas-[\w.-]{20,}`}},
	{name: "gitlab scim token", shapes: []string{`glsoat-[\w.-]{20,}`}},
	{name: "bitbucket token", shapes: []string{`ATBB[\w=]{28,}`, `ATCTT3[\w=-]{60,}`}},
	{name: "atlassian token", shapes: []string{`ATATT3[\w=-]{60,}`, `ATSTT3[\w=-]{60,}`}},
	{name: "slack token", shapes: []string{
		`xoxb-[\w-]{20,}`, `xoxp-[\w-]{20,}`, `xoxa-[\w-]{20,}`, `xoxr-[\w-]{20,}`, `xoxs-[\w-]{20,}`, `xoxo-[\w-]{20,}`, `xoxc-[\w-]{20,}`, `xoxd-[\w%+/=-]{20,}`,
		`xoxe-[\w-]{20,}`, `xoxe.xoxp-[\w-]{20,}`, `xoxe.xoxb-[\w-]{20,}`}},
	{name: "slack app token", shapes: []string{`xapp-[\w-]{20,}`}},
	{name: "stripe key", shapes: []string{
		`sk_live_[A-Za-z0-9]{16,}`, `sk_test_[A-Za-z0-9]{16,}`, `rk_live_[A-Za-z0-9]{16,}`, `rk_test_[A-Za-z0-9]{16,}`, `sk_org_live_[A-Za-z0-9]{16,}`,
		`sk_org_test_[A-Za-z0-9]{16,}`, `sk_prod_[A-Za-z0-9]{16,}`}},
	{name: "webhook signing secret", shapes: []string{`whsec_[A-Za-z0-9+/=]{20,}`}},
	{name: "google api key", shapes: []string{`AIza[\w-]{33,40}`, `AQ.Ab8[\w-]{40,}`}},
	{name: "google oauth client secret", shapes: []string{`GOCSPX-[\w-]{24,}`}},
	{name: "google access token", shapes: []string{`ya29.[\w.-]{30,}`}},
	{name: "google refresh token", shapes: []string{`1//0[\w-]{40,}`}},
	{name: "digitalocean token", shapes: []string{`dop_v1_[\h]{60,}`, `doo_v1_[\h]{60,}`, `dor_v1_[\h]{60,}`, `dot_v1_[\h]{60,}`}},
	{name: "shopify token", shapes: []string{
		`shpat_[0-9a-fA-F]{32,}`, `shpca_[0-9a-fA-F]{32,}`, `shppa_[0-9a-fA-F]{32,}`, `shpss_[0-9a-fA-F]{32,}`, `shptka_[0-9a-fA-F]{32,}`, `shpua_[0-9a-fA-F]{32,}`}},
	{name: "square token", shapes: []string{`sq0atp-[\w-]{22,}`, `sq0csp-[\w-]{40,}`, `EAAAE[\w-]{55,}`, `EAAAF[\w-]{55,}`, `EAAAl[\w-]{55,}`}},
	{name: "braintree token", shapes: []string{`access_token$production$[a-z0-9]{16}$[\h]{32}`, `access_token$sandbox$[a-z0-9]{16}$[\h]{32}`}},
	{name: "twilio key", shapes: []string{`SK[\h]{32}`}},
	{name: "sendgrid key", shapes: []string{`SG.[\w-]{16,32}.[\w-]{32,}`}},
	{name: "mailgun key", shapes: []string{`key-[\h]{32}`, `pubkey-[\h]{32}`}},
	{name: "brevo key", shapes: []string{`xkeysib-[\h]{60,}-[A-Za-z0-9]{16}`, `xsmtpsib-[\h]{60,}-[A-Za-z0-9]{16}`}},
	{name: "resend key", shapes: []string{`re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}`}},
	{name: "mailersend token", shapes: []string{`mlsn.[\h]{60,}`}},
	{name: "npm token", shapes: []string{`npm_[A-Za-z0-9]{36,}`}},
	{name: "pypi token", shapes: []string{`pypi-AgEI[\w-]{50,}`, `pypi-AgEN[\w-]{50,}`, `pypi-[\w-]{85,}`}},
	{name: "rubygems key", shapes: []string{`rubygems_[\h]{40,}`}},
	{name: "crates.io token", shapes: []string{`cio[A-Za-z0-9]{32}`}},
	{name: "nuget key", shapes: []string{`oy2[a-z0-9]{43}`}},
	{name: "clojars token", shapes: []string{`CLOJARS_[\h]{60}`}},
	{name: "packagist token", shapes: []string{`packagist_ack_[\h]{60,}`, `packagist_uut_[\h]{60,}`, `packagist_out_[\h]{60,}`}},
	{name: "docker token", shapes: []string{`dckr_pat_[\w-]{20,}`, `dckr_oat_[\w-]{20,}`}},
	{name: "heroku key", shapes: []string{`HRKU-[\w-]{36,}`}},
	{name: "fly.io token", shapes: []string{`fm1r_[\w+/=,-]{40,}`, `fm2_[\w+/=,-]{40,}`, `fo1_[\w-]{40,}`}},
	{name: "vercel token", shapes: []string{`vcp_[A-Za-z0-9]{24,}`, `vci_[A-Za-z0-9]{24,}`, `vca_[A-Za-z0-9]{24,}`, `vcr_[A-Za-z0-9]{24,}`, `vck_[A-Za-z0-9]{24,}`,
		`vercel_blob_rw_[\w]{30,}`}},
	{name: "netlify token", shapes: []string{`nfp_[A-Za-z0-9]{36,}`}},
	{name: "cloudflare token", shapes: []string{`cfut_[\w-]{36,}`, `cfat_[\w-]{36,}`, `cfk_[\w-]{36,}`, `v1.0-[\h]{24}-[\h]{140,}`}},
	{name: "vault token", shapes: []string{`hvs.[\w-]{24,}`, `hvb.[\w-]{24,}`, `hvr.[\w-]{24,}`}},
	{name: "grafana token", shapes: []string{`glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}`, `glc_[A-Za-z0-9+/=]{32,}`, `eyJrIjoi[A-Za-z0-9+/=]{60,}`}},
	{name: "new relic key", shapes: []string{`NRAK-[A-Z0-9]{27}`, `NRII-[\w-]{32}`, `NRJS-[\h]{19}`, `NRSP-[\w]{20,}`, `NRRA-[\h]{42}`, `NRAA-[\h]{27}`}},
	{name: "sentry token", shapes: []string{`sntrys_eyJ[\w+/=-]{60,}`, `sntryu_[\h]{60,}`, `sntrya_[\h]{60,}`}},
	{name: "linear key", shapes: []string{`lin_api_[A-Za-z0-9]{32,}`, `lin_oauth_[A-Za-z0-9]{32,}`}},
	{name: "notion token", shapes: []string{`ntn_[A-Za-z0-9]{40,}`, `secret_[A-Za-z0-9]{43}`}},
	{name: "airtable token", shapes: []string{`pat[A-Za-z0-9]{14}.[\h]{64}`}},
	{name: "figma token", shapes: []string{`figd_[\w-]{36,}`, `figu_[\w-]{36,}`, `figo_[\w-]{36,}`}},
	{name: "facebook token", shapes: []string{`EAACEdEose0cBA[A-Za-z0-9]{20,}`, `EAAB[A-Za-z0-9]{80,}`, `EAAC[A-Za-z0-9]{80,}`, `EAAG[A-Za-z0-9]{80,}`, `EAAM[A-Za-z0-9]{80,}`}},
	{name: "linkedin secret", shapes: []string{`WPL_AP1.[\w.+/=-]{16,}`}},
	{name: "supabase key", shapes: []string{`sbp_[\h]{40}`, `sb_secret_[\w-]{24,}`}},
	{name: "planetscale credential", shapes: []string{`pscale_tkn_[\w.=-]{32,}`, `pscale_pw_[\w.=-]{32,}`, `pscale_oauth_[\w.=-]{32,}`}},
	{name: "neon key", shapes: []string{`napi_[A-Za-z0-9]{40,}`}},
	{name: "postman key", shapes: []string{`PMAK-[\h]{24}-[\h]{34}`}},
	{name: "posthog key", shapes: []string{`phx_[A-Za-z0-9]{40,}`}},
	{name: "doppler token", shapes: []string{`dp.pt.[A-Za-z0-9]{40,}`, `dp.st.[\w.-]{40,}`, `dp.ct.[A-Za-z0-9]{40,}`, `dp.sa.[A-Za-z0-9]{40,}`, `dp.scim.[A-Za-z0-9]{40,}`,
		`dp.audit.[A-Za-z0-9]{40,}`}},
	{name: "pulumi token", shapes: []string{`pul-[\h]{40}`}},
	{name: "databricks token", shapes: []string{`dapi[\h]{32}`, `dose[\h]{32}`}},
	{name: "dynatrace token", shapes: []string{`dt0c01.[A-Z0-9]{24}.[A-Z0-9]{60,}`, `dt0s01.[A-Z0-9]{8,24}.[A-Z0-9]{60,}`, `dt0s16.[A-Z0-9]{8,24}.[A-Z0-9]{60,}`}},
	{name: "buildkite token", shapes: []string{`bkua_[\h]{40}`, `bkct_[\w.-]{40,}`, `bkaj_[\w.-]{40,}`}},
	{name: "circleci token", shapes: []string{`CCIPAT_[A-Za-z0-9]{22}_[\h]{40}`, `CCIPRJ_[A-Za-z0-9]{22}_[\h]{40}`}},
	{name: "prefect key", shapes: []string{`pnu_[A-Za-z0-9]{36}`, `pnb_[A-Za-z0-9]{36}`}},
	{name: "artifactory token", shapes: []string{`AKCp[A-Za-z0-9]{60,}`, `cmVmdGtu[A-Za-z0-9]{50,}`}},
	{name: "alibaba access key", shapes: []string{`LTAI[A-Za-z0-9]{12,26}`}},
	{name: "tencent secret id", shapes: []string{`AKID[A-Za-z0-9]{32}`}},
	{name: "yandex key", shapes: []string{`AQVN[\w-]{35,38}`, `y0_[\w-]{50,}`, `t1.[A-Z0-9a-z_-]{2,}.[\w-]{80,}`, `YCAJ[\w-]{20,}`}},
	{name: "age secret key", shapes: []string{`AGE-SECRET-KEY-1[A-Z0-9]{50,}`, `AGE-SECRET-KEY-PQ-1[A-Z0-9]{50,}`}},
	{name: "1password token", shapes: []string{`ops_eyJ[\w+/=-]{100,}`, `A3-[A-Z0-9]{6}-[A-Z0-9]{6}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}`,
		`A3-[A-Z0-9]{6}-[A-Z0-9]{11}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}`}},
	{name: "easypost key", shapes: []string{`EZAK[A-Za-z0-9]{54}`, `EZTK[A-Za-z0-9]{54}`}},
	{name: "duffel token", shapes: []string{`duffel_test_[\w-]{40,}`, `duffel_live_[\w-]{40,}`}},
	{name: "shippo token", shapes: []string{`shippo_live_[\h]{40}`, `shippo_test_[\h]{40}`}},
	{name: "plaid token", shapes: []string{`access-production-[\h-]{36}`, `access-sandbox-[\h-]{36}`, `access-development-[\h-]{36}`}},
	{name: "razorpay key", shapes: []string{`rzp_live_[A-Za-z0-9]{14,}`, `rzp_test_[A-Za-z0-9]{14,}`}},
	{name: "flutterwave key", shapes: []string{`FLWSECK_TEST-[\h]{32}-X`, `FLWSECK-[\w-]{32,}`, `FLWSECK_TEST-[A-Za-z0-9]{12,}`}},
	{name: "readme key", shapes: []string{`rdme_[a-z0-9]{60,}`}},
	{name: "mapbox secret token", shapes: []string{`sk.eyJ[\w-]{40,}.[\w-]{20,}`}},
	{name: "typeform token", shapes: []string{`tfp_[\w.=-]{50,}`}},
	{name: "contentful token", shapes: []string{`CFPAT-[\w-]{40,}`}},
	{name: "launchdarkly key", shapes: []string{`sdk-[\h]{8}-[\h]{4}-[\h]{4}-[\h]{4}-[\h]{12}`, `api-[\h]{8}-[\h]{4}-[\h]{4}-[\h]{4}-[\h]{12}`}},
	{name: "sourcegraph token", shapes: []string{`sgp_[\w]{40,}`, `sgd_[\w]{40,}`}},
	{name: "tailscale key", shapes: []string{`tskey-[\w-]{20,}`}},
	{name: "sonarqube token", shapes: []string{`squ_[\h]{40}`, `sqp_[\h]{40}`, `sqa_[\h]{40}`}},
	{name: "octopus key", shapes: []string{`API-[A-Z0-9]{26}`}},
	{name: "infracost key", shapes: []string{`ico-[A-Za-z0-9]{32}`}},
	{name: "terraform token", keywords: []string{".atlasv1."}, find: at(terraform), about: "14 characters, `.atlasv1.`, 60 characters or more"},
	{name: "openshift token", shapes: []string{`sha256~[\w-]{43}`}},
	{name: "harness token", shapes: []string{`pat.[\w-]{22}.[\h]{24}.[A-Za-z0-9]{20}`, `sat.[\w-]{22}.[\h]{24}.[A-Za-z0-9]{20}`}},
	{name: "adobe secret", shapes: []string{`p8e-[A-Za-z0-9-]{32,}`}},
	{name: "frame.io token", shapes: []string{`fio-u-[\w=-]{60,}`}},
	{name: "hubspot token", shapes: []string{`pat-na1-[\h-]{36}`, `pat-na2-[\h-]{36}`, `pat-eu1-[\h-]{36}`, `pat-ap1-[\h-]{36}`}},
	{name: "asana token", shapes: []string{`1/[\d]{15,17}:[\h]{32}`, `2/[\d]{15,17}/[\d]{15,17}:[\h]{32}`}},
	{name: "okta header", shapes: []string{`SSWS 00[\w-]{38,42}`}},
	{name: "dropbox token", shapes: []string{`sl.[\w-]{60,}`, `sl.u.[\w-]{60,}`}},
	{name: "salesforce token", shapes: []string{`00D[A-Za-z0-9]{12,15}![\w.]{60,}`}},
	{name: "twitch token", shapes: []string{`oauth:[a-z0-9]{30}`}},
	{name: "bip32 private key", shapes: []string{`xprv[A-Za-z0-9]{100,}`, `yprv[A-Za-z0-9]{100,}`, `zprv[A-Za-z0-9]{100,}`}},
}

// models are providers of language models and of services that agents use with them.
var models = []kind{
	{name: "anthropic key", shapes: []string{`sk-ant-[\w-]{24,}`}},
	{name: "openrouter key", shapes: []string{`sk-or-[\w-]{32,}`}},
	{name: "langfuse key", shapes: []string{`sk-lf-[\h-]{36}`}},
	{name: "openai key", shapes: []string{`sk-proj-[\w-]{32,}`, `sk-svcacct-[\w-]{32,}`, `sk-admin-[\w-]{32,}`, `sk-None-[\w-]{32,}`, `sess-[A-Za-z0-9]{40}`}},
	{name: "openai-style key", shapes: []string{`sk-[A-Za-z0-9]{20,}`, `sk-[\w-]{32,}`, `sk_[A-Za-z0-9]{40,}`}},
	{name: "hugging face token", shapes: []string{`hf_[A-Za-z0-9]{30,}`, `api_org_[A-Za-z0-9]{30,}`, `hf_oauth_[\w.-]{30,}`, `hf_jwt_[\w.-]{30,}`}},
	{name: "replicate token", shapes: []string{`r8_[A-Za-z0-9]{36,}`}},
	{name: "groq key", shapes: []string{`gsk_[A-Za-z0-9]{48,}`}},
	{name: "perplexity key", shapes: []string{`pplx-[A-Za-z0-9]{40,}`}},
	{name: "xai key", shapes: []string{`xai-[A-Za-z0-9]{60,}`, `xai-token-[A-Za-z0-9]{40,}`}},
	{name: "together key", shapes: []string{`tgp_v1_[\w-]{40,}`}},
	{name: "fireworks key", shapes: []string{`fw_[A-Za-z0-9]{22,28}`}},
	{name: "cerebras key", shapes: []string{`csk-[a-z0-9]{40,}`}},
	{name: "nvidia key", shapes: []string{`nvapi-[\w-]{60,}`}},
	{name: "langsmith key", shapes: []string{`lsv2_pt_[\h]{32}_[\h]{10}`, `lsv2_sk_[\h]{32}_[\h]{10}`, `ls__[\h]{32}`}},
	{name: "pinecone key", shapes: []string{`pcsk_[\w]{50,}`}},
	{name: "tavily key", shapes: []string{`tvly-[\w-]{28,}`}},
	{name: "firecrawl key", shapes: []string{`fc-[\h]{32}`}},
	{name: "jina key", shapes: []string{`jina_[\w-]{40,}`}},
	{name: "voyage key", shapes: []string{`pa-[\w-]{40,46}`}},
	{name: "brave search key", shapes: []string{`BSA[\w-]{27,29}`}},
	{name: "context7 key", shapes: []string{`ctx7sk-[\h-]{36}`}},
	{name: "cursor key", shapes: []string{`crsr_[\h]{60,}`, `key_[\h]{60,}`}},
	{name: "e2b key", shapes: []string{`e2b_[\h]{40}`}},
	{name: "wandb key", shapes: []string{`wandb_v1_[\w-]{60,}`}},
	{name: "mem0 key", shapes: []string{`m0-[A-Za-z0-9]{40}`}},
	{name: "braintrust key", shapes: []string{`bt-st-[A-Za-z0-9]{40,}`}},
}
