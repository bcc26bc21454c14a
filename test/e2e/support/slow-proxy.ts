/** TCP proxy that delays data between operators and the simulator, and records when requests are sent. */
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Minimum and maximum random delay of each chunk of data, in ms. */
export interface Latency {
  readonly minMs: number;
  readonly maxMs: number;
}

export interface SentRequest {
  /** Id of the operator process that sent the request. */
  readonly pid: number;
  /** Time on the `performance.now` clock at which the request left the operator. */
  readonly atMs: number;
}

/**
 * Minimum size in bytes of a TLS record that contains a request. All other records that the operator sends are smaller,
 * because only requests contain credentials.
 */
const minRequestBytes = 120;
const applicationData = 23;

export class SlowProxy {
  readonly sent: SentRequest[] = [];
  latency: Latency = { minMs: 0, maxMs: 0 };
  #stalledUntilMs = 0;
  readonly #server: Server;
  readonly #target: URL;
  readonly #pids: readonly number[];
  readonly #sockets = new Set<Socket>();
  readonly #waiting = new Set<() => void>();

  static async open(target: URL, pids: readonly number[]): Promise<SlowProxy> {
    const way = new SlowProxy(target, pids);
    way.#server.listen(0, '127.0.0.1');
    await once(way.#server, 'listening');
    return way;
  }

  private constructor(target: URL, pids: readonly number[]) {
    this.#target = target;
    this.#pids = pids;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** URL of the log service, through the proxy. */
  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return Object.assign(new URL(this.#target), { port: String(port) }).href.replace(/\/$/, '');
  }

  async more(pid: number, count: number): Promise<void> {
    const sentBy = () => this.sent.filter((one) => one.pid === pid).length;
    const until = sentBy() + count;
    while (sentBy() < until) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  /** Holds back all data in both directions for `durationMs`. */
  stall(durationMs: number): void {
    this.#stalledUntilMs = performance.now() + durationMs;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(operator: Socket): void {
    const pid = ownerOf(operator.remotePort ?? 0, this.#pids);
    // If the operator has already closed its connection, the proxy cannot find out which process opened the connection.
    if (pid === undefined) {
      operator.destroy();
      return;
    }
    const service = connect(Number(this.#target.port), this.#target.hostname);
    const records = new TlsRecords(() => this.#note(pid));
    operator.on('data', (piece: Buffer) => records.take(piece));
    this.#carry(operator, service);
    this.#carry(service, operator);
  }

  #note(pid: number): void {
    this.sent.push({ pid, atMs: performance.now() });
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #carry(from: Socket, to: Socket): void {
    this.#sockets.add(from.setNoDelay(true));
    let dueMs = 0;
    const later = (act: () => void) => {
      const { minMs, maxMs } = this.latency;
      const delayMs = minMs + Math.random() * (maxMs - minMs);
      const nowMs = performance.now();
      dueMs = Math.max(dueMs, nowMs + delayMs, this.#stalledUntilMs);
      setTimeout(act, dueMs - nowMs);
    };
    from.on('data', (piece: Buffer) => later(() => to.write(piece)));
    from.on('end', () => later(() => to.end()));
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      later(() => to.destroy());
    });
  }
}

/** Detects requests in a TLS stream by the size of the TLS records. */
class TlsRecords {
  readonly #onRequest: () => void;
  #rest = Buffer.alloc(0);

  constructor(onRequest: () => void) {
    this.#onRequest = onRequest;
  }

  take(piece: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, piece]);
    while (this.#rest.length >= 5) {
      const bytes = this.#rest.readUInt16BE(3);
      if (this.#rest.length < 5 + bytes) return;
      if (this.#rest[0] === applicationData && bytes >= minRequestBytes) this.#onRequest();
      this.#rest = this.#rest.subarray(5 + bytes);
    }
  }
}

/** Returns the id of the process that uses this local port. Works only on Linux. */
function ownerOf(port: number, pids: readonly number[]): number | undefined {
  const address = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  const inode = lines.map((line) => line.trim().split(/\s+/)).find((fields) => fields[1] === address)?.[9];
  return pids.find((pid) => descriptorsOf(pid).includes(`socket:[${inode}]`));
}

function descriptorsOf(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  return orNothing(() => readdirSync(folder)).flatMap((name) => orNothing(() => [readlinkSync(`${folder}/${name}`)]));
}

/** Returns the result of `read`, or an empty list if the process or the descriptor no longer exists. */
function orNothing(read: () => readonly string[]): readonly string[] {
  try {
    return read();
  } catch {
    return [];
  }
}
