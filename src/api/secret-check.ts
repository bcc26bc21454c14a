/**
 * A Secret manifest that a resource names as its credentials: whether it has the keys that are needed, in a form that can be used.
 *
 * Invariant: no finding repeats a value, but for hosts. Whether the service takes the credentials, only the service can say.
 */
import { X509Certificate } from 'node:crypto';
import { nearest } from './did-you-mean.ts';
import type { Finding } from './finding.ts';
import type { JsonPath } from './json-path.ts';

const neededKeys = ['baseURL', 'accessId', 'accessKey'] as const;
const knownKeys = [...neededKeys, 'ca.crt', 'allowedHosts', 'user', 'requestsPerSecond', 'maxConcurrentRequests'];
const examples = {
  baseURL: 'https://api.example.com/api',
  accessId: 'your access ID',
  accessKey: 'your access key',
} as const;
/** Specification 8: what a user may ask at most. */
const limits = { requestsPerSecond: 4, maxConcurrentRequests: 10 } as const;

interface Entry {
  readonly path: JsonPath;
  /** Undefined where it cannot be read. */
  readonly text: string | undefined;
}

export function checkCredentialsSecret(secret: object): readonly Finding[] {
  const findings: Finding[] = [];
  const entries = readEntries(secret as Readonly<Record<string, unknown>>, findings);
  const section = 'stringData' in secret ? 'stringData' : 'data';
  for (const key of neededKeys) {
    if (entries.has(key)) continue;
    const message = `is missing; write it under stringData, as in ${key}: ${examples[key]}`;
    findings.push({ severity: 'error', path: [section, key], part: 'value', message });
  }
  for (const [key, entry] of entries) findings.push(...checkEntry(key, entry));
  return findings;
}

/** `stringData` wins over `data`, as it does for an API server. */
function readEntries(secret: Readonly<Record<string, unknown>>, findings: Finding[]): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const section of ['data', 'stringData']) {
    const members = secret[section];
    if (typeof members !== 'object' || members === null) continue;
    for (const [key, value] of Object.entries(members)) {
      const path = [section, key];
      let text: string | undefined;
      if (typeof value !== 'string') {
        findings.push({ severity: 'error', path, part: 'value', message: 'must be a text; write it in quotes' });
      } else if (section === 'data') {
        text = decodeBase64(value);
        const message = 'is not base64; write it as it is under stringData instead';
        if (text === undefined) findings.push({ severity: 'error', path, part: 'value', message });
      } else {
        text = value;
      }
      entries.set(key, { path, text });
    }
  }
  return entries;
}

function* checkEntry(key: string, { path, text }: Entry): Generator<Finding> {
  const error = (message: string): Finding => ({ severity: 'error', path, part: 'value', message });
  if (!knownKeys.includes(key)) {
    const meant = nearest(key, knownKeys);
    const message = `logfleet reads no such key; ${meant ? `did you mean ${meant}?` : `it reads ${knownKeys.join(', ')}`}`;
    yield { severity: 'warning', path, part: 'key', message };
    return;
  }
  const value = text?.trim();
  if (value === undefined) return;
  // What need not be there may as well be empty.
  if (value === '') {
    if (neededKeys.some((needed) => needed === key)) yield error('is empty; write its value');
  } else if (key === 'baseURL') yield* checkAddress(value, error);
  else if (key === 'ca.crt') yield* checkCertificates(value, error);
  else if (key === 'allowedHosts') yield* checkHosts(value, error);
  else if (key === 'requestsPerSecond' || key === 'maxConcurrentRequests') yield* checkShare(key, value, path);
}

function* checkShare(key: keyof typeof limits, text: string, path: JsonPath): Generator<Finding> {
  const value = Number(text);
  const isWhole = key === 'requestsPerSecond' || Number.isInteger(value);
  if (!(value > 0 && isWhole)) {
    const message = `is no share of what the service allows; write a number above 0, up to ${limits[key]}`;
    yield { severity: 'error', path, part: 'value', message };
  } else if (value > limits[key]) {
    const message = `is more than the service allows, which counts; write up to ${limits[key]}, or leave it out`;
    yield { severity: 'warning', path, part: 'value', message };
  }
}

const certificateForm = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

function* checkCertificates(text: string, error: (message: string) => Finding): Generator<Finding> {
  const certificates = text.match(certificateForm) ?? [];
  if (certificates.length === 0) {
    yield error('holds no certificate; write PEM, from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----');
  } else if (!certificates.every(isCertificate)) {
    yield error('holds a certificate that cannot be read; write it again as it came from the authority');
  }
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}

function* checkHosts(text: string, error: (message: string) => Finding): Generator<Finding> {
  for (const host of text.split(/[\s,]+/)) {
    const address = URL.parse(host.includes('://') ? host : `https://${host}`);
    if (host === '' || (address?.protocol === 'https:' && address.host !== '')) continue;
    yield error(`${JSON.stringify(host)} is no host; write hosts with commas between, as in api.example.com:8443`);
  }
}

function* checkAddress(text: string, error: (message: string) => Finding): Generator<Finding> {
  const address = URL.canParse(text) ? new URL(text) : undefined;
  if (address?.protocol !== 'https:') {
    yield error(`is no https:// address, and the service takes no other; write one, as in ${examples.baseURL}`);
  } else if (address.username !== '' || address.password !== '') {
    yield error('carries credentials; write them under accessId and accessKey, and the address without');
  } else if (address.search !== '' || address.hash !== '') {
    yield error(`goes on after its path; write it up to there, as in ${examples.baseURL}`);
  }
}

function decodeBase64(text: string): string | undefined {
  const compact = text.replace(/\s+/g, '');
  if (compact.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(compact)) return undefined;
  return Buffer.from(compact, 'base64').toString('utf8');
}
