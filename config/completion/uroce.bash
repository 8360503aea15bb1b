# uroce.bash - completion of options, made by docs/generate from the table of all options
# SPDX-License-Identifier: BSD-3-Clause
_uroce()
{
	local words values=() word=$2 before=$3
	case ${1##*/} in
	uroce-perf) words='--op --mode --size --all --mtu --qps --idle-qps --tx-depth --rx-depth --outs --cq-mod --inline --timeout --retry-cnt --rnr-timer --flow-control --ack-each --no-read-repair --cc --sack-window --paths --rx-rate --use-srq --rate_limit --rate_units --burst_size --duration --iters --bidirectional --verify --limit_bw --limit_msgrate --report-histogram --icrc --nb-cores --server --peer --port --rdma_cm --device --failover --connections --ip --vlan --no-dad --gateway --loss --dup --reorder --corrupt --seed --record --json --report --dry-run --qp-timeout --tclass --inline_size --ib-dev --qp --out_json_file --help --version' ;;
	uroce-testpmd) words='--device --ip --gateway --vlan --no-dad --peer --server --port --interactive --auto-start --cmdline-file --config --duration --stats-period --verbose --nb-cores --rxq --txq --rxd --txd --mbuf-size --total-num-mbufs --idle --mix --size --qps --tx-depth --burst --bidirectional --use-srq --mtu --cc --sack-window --paths --timeout --retry-cnt --loss --dup --reorder --corrupt --pkey --rkey --cq-depth --seed --json --record --limit-qps --limit-mrs --eal-args --dry-run --help-settings --help --version' ;;
	uroce-nvmet) words='--device --ip --gateway --vlan --no-dad --port --file --memory --store --block --buffered --threads --read-only --uuid --nqn --host-nqn --config --control --record --idle --nb-cores --dry-run --help --version' ;;
	uroce-nvme-perf) words='--peer --nqn --device --ip --gateway --vlan --no-dad --port --nsid --rw --bs --iodepth --queues --rwmixread --port-queues --thinktime --verify --duration --store --block --in-capsule --bare --failover --cycles --timeout --retry-cnt --record --json --dry-run --runtime --help --version' ;;
	uroce-nvmetcli) words='--control --dry-run --help --version' ;;
	uroce-run) words='--config --device --ip --gateway --mtu --idle --sack-window --paths --vlan --no-dad --record --explain --check --print-env --dry-run --help --version' ;;
	uroce-decode) words='--rebuild --json-lines --cm --dry-run --help --version' ;;
	uroce-top) words='--once --file-prefix --interval --rows --why --bundle --dry-run --help --version' ;;
	uroce-devinfo) words='--file-prefix --json --dry-run --help --version' ;;
	uroce-exporter) words='--file-prefix --rows --once --dry-run --help --version' ;;
	uroce-report) words='--dry-run --help --version' ;;
	esac
	case ${1##*/}:$before in
	uroce-perf:--op) values=($(compgen -W 'send send_imm send_inv write write_imm awrite flush read fadd cswap' -- "$word")) ;;
	uroce-perf:--mode) values=($(compgen -W 'bw lat' -- "$word")) ;;
	uroce-perf:--mtu|uroce-perf:-m) values=($(compgen -W '256 512 1024 2048 4096' -- "$word")) ;;
	uroce-perf:--cc) values=($(compgen -W 'default fixed dcqcn delay' -- "$word")) ;;
	uroce-perf:--sack-window) values=($(compgen -W 'off 256 512 1024 2048' -- "$word")) ;;
	uroce-perf:--record) values=($(compgen -d -- "$word")) ;;
	uroce-perf:--json) values=($(compgen -f -- "$word")) ;;
	uroce-perf:--report) values=($(compgen -f -- "$word")) ;;
	uroce-perf:--out_json_file) values=($(compgen -f -- "$word")) ;;
	uroce-testpmd:--cmdline-file) values=($(compgen -f -- "$word")) ;;
	uroce-testpmd:--config) values=($(compgen -f -- "$word")) ;;
	uroce-testpmd:--idle) values=($(compgen -W 'poll yield sleep' -- "$word")) ;;
	uroce-testpmd:--mtu|uroce-testpmd:-m) values=($(compgen -W '256 512 1024 2048 4096' -- "$word")) ;;
	uroce-testpmd:--cc) values=($(compgen -W 'default fixed dcqcn delay' -- "$word")) ;;
	uroce-testpmd:--sack-window) values=($(compgen -W 'off 256 512 1024 2048' -- "$word")) ;;
	uroce-testpmd:--json) values=($(compgen -f -- "$word")) ;;
	uroce-testpmd:--record) values=($(compgen -d -- "$word")) ;;
	uroce-nvmet:--file) values=($(compgen -f -- "$word")) ;;
	uroce-nvmet:--config) values=($(compgen -f -- "$word")) ;;
	uroce-nvmet:--control) values=($(compgen -f -- "$word")) ;;
	uroce-nvmet:--record) values=($(compgen -d -- "$word")) ;;
	uroce-nvmet:--idle) values=($(compgen -W 'poll yield sleep' -- "$word")) ;;
	uroce-nvme-perf:--record) values=($(compgen -d -- "$word")) ;;
	uroce-nvme-perf:--json) values=($(compgen -f -- "$word")) ;;
	uroce-nvmetcli:--control) values=($(compgen -f -- "$word")) ;;
	uroce-run:--config) values=($(compgen -f -- "$word")) ;;
	uroce-run:--mtu|uroce-run:-m) values=($(compgen -W '256 512 1024 2048 4096' -- "$word")) ;;
	uroce-run:--idle) values=($(compgen -W 'poll yield sleep' -- "$word")) ;;
	uroce-run:--sack-window) values=($(compgen -W 'off 256 512 1024 2048' -- "$word")) ;;
	uroce-run:--record) values=($(compgen -d -- "$word")) ;;
	uroce-devinfo:--json) values=($(compgen -f -- "$word")) ;;
	esac
	if [[ $word == -* ]]; then
		values=($(compgen -W "$words" -- "$word"))
	fi
	COMPREPLY=("${values[@]}")
}
complete -o default -F _uroce uroce-perf uroce-testpmd uroce-nvmet uroce-nvme-perf uroce-nvmetcli uroce-run uroce-decode uroce-top uroce-devinfo uroce-exporter uroce-report
