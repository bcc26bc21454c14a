/** Creates the simulator's TLS certificates. They are valid for localhost only. Existing files are kept. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { LogfleetError } from '../src/base/errors.ts';

export interface Certificates {
  /** Path of the CA certificate, which clients must trust. */
  readonly caFile: string;
  readonly cert: string;
  readonly key: string;
}

const names = { ca: 'ca.crt', cert: 'tls.crt', key: 'tls.key' } as const;
const validForMs = 10 * 365 * 86_400_000;

/**
 * Returns the TLS certificates in `dir`. Creates the three files (CA, certificate and key) if none of them exists.
 * Throws if only some of them exist, if the certificate has expired, or if the key belongs to another certificate.
 */
export async function certificatesIn(dir: string, nowMs: number): Promise<Certificates> {
  await mkdir(dir, { recursive: true });
  const file = (name: string) => path.join(dir, name);
  const contents = await Promise.all([names.ca, names.cert, names.key].map((name) => readIfThere(file(name))));
  if (contents.every((content) => content === undefined)) await make(dir, nowMs);
  else checkWhole(dir, contents, nowMs);
  const [cert, key] = await Promise.all([readFile(file(names.cert), 'utf8'), readFile(file(names.key), 'utf8')]);
  return { caFile: file(names.ca), cert, key };
}

function checkWhole(dir: string, [ca, cert, key]: readonly (string | undefined)[], nowMs: number): void {
  if (ca === undefined || cert === undefined || key === undefined) {
    throw unusable(dir, `needs ${names.ca}, ${names.cert} and ${names.key}, but only some of them exist`);
  }
  const certificate = new X509Certificate(cert);
  if (certificate.validToDate.getTime() < nowMs) throw unusable(dir, `contains a ${names.cert} that has expired`);
  if (!certificate.checkPrivateKey(createPrivateKey(key)))
    throw unusable(dir, `contains a ${names.key} that does not belong to ${names.cert}`);
}

function unusable(dir: string, what: string): LogfleetError {
  return new LogfleetError({
    code: 'simulator.tls',
    message: `${dir} ${what}; correct the files, or remove all three to create new ones`,
    handling: { kind: 'stall' },
  });
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function make(dir: string, nowMs: number): Promise<void> {
  // This library is large, so it is imported only when certificates have to be created.
  const { generate } = await import('selfsigned');
  const common = {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(nowMs - 3_600_000),
    notAfterDate: new Date(nowMs + validForMs),
  } as const;
  const authority = await generate([{ name: 'commonName', value: 'logfleet simulator CA' }], {
    ...common,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const server = await generate([{ name: 'commonName', value: 'localhost' }], {
    ...common,
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' },
        ],
      },
    ],
  });
  await put(dir, names.key, server.private, 0o600);
  await put(dir, names.cert, server.cert, 0o644);
  await put(dir, names.ca, authority.cert, 0o644);
}

/** Creates a file atomically. Never overwrites an existing file. */
async function put(dir: string, name: string, content: string, mode: number): Promise<void> {
  const temporary = path.join(dir, `.${name}.${process.pid}`);
  await writeFile(temporary, content, { mode });
  try {
    await link(temporary, path.join(dir, name));
  } finally {
    await rm(temporary);
  }
}
