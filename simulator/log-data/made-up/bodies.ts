/** Text of generated messages: access logs, `key=value` pairs, JSON, kernel messages and stack traces. */
import type { Random } from '../../../src/base/random.ts';
import type { Origin } from './origins.ts';

interface Level {
  readonly name: string;
  readonly share: number;
  readonly statuses: readonly number[];
}

const levels: readonly Level[] = [
  { name: 'DEBUG', share: 0.1, statuses: [200] },
  { name: 'WARN', share: 0.07, statuses: [400, 404, 429] },
  { name: 'ERROR', share: 0.045, statuses: [500, 502, 503] },
  { name: 'FATAL', share: 0.005, statuses: [500] },
];
const info: Level = { name: 'INFO', share: 1, statuses: [200, 200, 200, 201, 204, 304] };

const methods = ['GET', 'GET', 'GET', 'POST', 'PUT', 'DELETE'] as const;
const events = ['order placed', 'cart updated', 'request served', 'cache refreshed', 'token issued'] as const;
const failures = ['upstream timed out', 'connection refused', 'payment declined', 'deadlock detected'] as const;
const words = 'queue shard replica lease batch cursor bucket tenant session worker retry index segment offset'.split(
  ' ',
);
const odd = [
  'said "no" and \'never\'',
  'C:\\temp\\new \\u0041',
  'a/b </script> <!-- & -->',
  'tab\there\r\nnext line',
  'bell\u0007 escape\u001b[31mred\u001b[0m delete\u007f',
  'nothing\u0000inside',
  'café naïve Łódź ß',
  '漢字 かな 한글 ไทย',
  '😀 👩‍👩‍👧 𝒳 🇪🇺',
  'line\u2028paragraph\u2029end\ufeff',
  '{"nested":"{\\"deep\\":[1,2]}"},{"map":{}}]}',
] as const;
const loneSurrogates = ['\ud800', 'half\udc00way', '\ude00\ud83d'] as const;

export interface BodyOptions {
  readonly origin: Origin;
  readonly bytes: number;
  readonly isOdd: boolean;
  readonly hasLoneSurrogate: boolean;
}

export function body(options: BodyOptions, random: Random): string {
  const level = drawnLevel(random);
  const status = pick(level.statuses, random);
  const remarks = [
    pick(status < 400 ? events : failures, random),
    ...(options.isOdd ? [pick(odd, random)] : []),
    ...(options.hasLoneSurrogate ? [pick(loneSurrogates, random)] : []),
  ];
  const facts: Facts = { ...options, level: level.name, status, remark: remarks.join(' ') };
  switch (options.origin.kind) {
    case 'access':
      return accessLine(facts, random);
    case 'app':
      return facts.status >= 500 && random.next() < 0.5 ? stackTrace(facts, random) : pairs(facts, random);
    case 'json':
      return jsonLine(facts, random);
    case 'system':
      return systemLine(facts, random);
  }
}

interface Facts extends BodyOptions {
  readonly level: string;
  readonly status: number;
  readonly remark: string;
}

function accessLine({ origin, bytes, status, remark }: Facts, random: Random): string {
  const address = `10.${whole(256, random)}.${whole(256, random)}.${whole(256, random)}`;
  const request = `${pick(methods, random)} /api/v1/${origin.service}/${whole(100_000, random)} HTTP/1.1`;
  const line = `${address} - user${whole(5_000, random)} "${request}" ${status} ${whole(50_000, random)} ${(random.next() * 2).toFixed(3)}`;
  return `${line} "${remark}" "Mozilla/5.0 (X11; Linux x86_64) ${filler(bytes - line.length - 45, random)}"`;
}

function pairs(facts: Facts, random: Random): string {
  const { origin, bytes, level, status, remark } = facts;
  const start = `level=${level} service=${origin.service} status=${status} duration_ms=${whole(3_000, random)} method=${pick(methods, random)} user=user${whole(5_000, random)} trace=${hex(random)}`;
  const text = `${start} msg="${remark}" detail="`;
  return `${text}${filler(bytes - text.length - 1, random)}"`;
}

function stackTrace({ origin, bytes, level, remark }: Facts, random: Random): string {
  const name = `${origin.service.charAt(0).toUpperCase()}${origin.service.slice(1)}`;
  let text = `${level} [worker-${whole(64, random)}] com.example.${origin.service}.${name}Service - ${remark}\njava.lang.IllegalStateException: ${remark}`;
  while (text.length + 40 < bytes) {
    text += `\n\tat com.example.${origin.service}.${pick(words, random)}.${name}Handler.run(${name}Handler.java:${whole(900, random)})`;
  }
  return text;
}

function jsonLine({ origin, bytes, level, status, remark }: Facts, random: Random): string {
  const value = {
    level: level.toLowerCase(),
    service: origin.service,
    message: remark,
    status,
    duration_ms: whole(3_000, random),
    user: { id: `user${whole(5_000, random)}`, plan: pick(['free', 'team', 'pro'], random) },
    tags: [pick(words, random), pick(words, random)],
    trace: hex(random),
    cached: random.next() < 0.5,
  };
  const left = bytes - JSON.stringify(value).length - 13;
  return JSON.stringify({ ...value, context: filler(left, random) });
}

function systemLine({ origin, bytes, level, remark }: Facts, random: Random): string {
  const text = `<${whole(191, random)}>${origin.host} ${pick(['kernel', 'sshd', 'systemd', 'cron'], random)}[${whole(32_768, random)}]: ${level}: ${remark}; `;
  return text + filler(bytes - text.length, random);
}

/** Returns filler words with a total length of about `bytes` bytes. */
function filler(bytes: number, random: Random): string {
  const parts: string[] = [];
  for (let length = 0; length < bytes; ) {
    const part = `${pick(words, random)}-${whole(100_000, random)}`;
    parts.push(part);
    length += part.length + 1;
  }
  return parts.join(' ');
}

function drawnLevel(random: Random): Level {
  let left = random.next();
  for (const level of levels) {
    if (left < level.share) return level;
    left -= level.share;
  }
  return info;
}

function pick<T>(list: readonly T[], random: Random): T {
  return list[Math.floor(random.next() * list.length)] as T;
}

function whole(below: number, random: Random): number {
  return Math.floor(random.next() * below);
}

function hex(random: Random): string {
  return whole(0xffff_ffff, random).toString(16).padStart(8, '0');
}
