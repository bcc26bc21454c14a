/** Tests how errors of disks and object stores are classified, and their messages. */
import { describe, expect, test } from 'vitest';
import { SecretText } from '../../../src/base/secret-text.ts';
import { s3Error } from '../../../src/destination/s3/s3-error.ts';
import { checkSettings, type S3Settings } from '../../../src/destination/s3/s3-settings.ts';
import { diskError } from '../../../src/destination/volume/disk-error.ts';

describe('an error of the file system', () => {
  test.each([
    ['ENOSPC', 'destination.full', 'wait', 'free some space'],
    ['EDQUOT', 'destination.full', 'wait', 'free some space'],
    ['EFBIG', 'destination.full', 'wait', 'maxPartSize'],
    ['EACCES', 'destination.denied', 'stall', 'the user that logfleet runs as'],
    ['EROFS', 'destination.denied', 'stall', 'mount the volume'],
    ['EIO', 'destination.away', 'backoff', 'tries again'],
    ['ESTALE', 'destination.away', 'backoff', 'tries again'],
  ])('%s is %s', (errno, code, handling, advice) => {
    const cause = Object.assign(new Error(`${errno}: no`), { code: errno });
    const error = diskError('write', '/exports/x', cause);
    expect(error).toMatchObject({ code, handling: { kind: handling }, cause });
    expect(error.message).toMatch(/^cannot write \/exports\/x: /);
    expect(error.message).toContain(advice);
  });

  test('names the path that users know, not the path through the open folder', () => {
    const cause = Object.assign(new Error("EACCES: permission denied, mkdir '/proc/self/fd/22/default'"), {
      code: 'EACCES',
    });
    expect(diskError('make', '/exports/default', cause).message).toMatch(
      /^cannot make \/exports\/default: EACCES: permission denied; grant write access/,
    );
  });
});

describe('an error of a store or its connection', () => {
  test.each([
    ['ECONNREFUSED', 'destination.away', 'backoff'],
    ['ENOTFOUND', 'destination.away', 'backoff'],
    ['TimeoutError', 'destination.away', 'backoff'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'destination.invalid', 'stall'],
    ['CERT_HAS_EXPIRED', 'destination.invalid', 'stall'],
    ['CredentialsProviderError', 'destination.credentials', 'stall'],
    ['ERR_INVALID_CHAR', 'destination.credentials', 'stall'],
    ['NoSuchUpload', 'destination.lost', 'backoff'],
    ['InvalidPart', 'destination.lost', 'backoff'],
    ['InvalidObjectState', 'destination.frozen', 'stall'],
  ])('%s is %s', (code, expected, handling) => {
    const cause = Object.assign(
      new Error('no'),
      code.startsWith('E') || code.includes('CERT') ? { code } : { name: code },
    );
    expect(s3Error('read plan', cause)).toMatchObject({ code: expected, handling: { kind: handling } });
  });

  test('is one short line for any message of the store', () => {
    const cause = Object.assign(new Error(`no\n\u0000${'!'.repeat(3_000)}`), { name: 'AccessDenied' });
    const { message } = s3Error('read plan', cause);
    expect(message).toMatch(/^cannot read plan: AccessDenied: no !+…; grant these credentials s3:PutObject/);
    expect(message.length).toBeLessThan(700);
  });
});

describe('settings of a store', () => {
  const good: S3Settings = {
    bucket: 'audit-logs',
    root: 'prefix/logging',
    credentials: { accessKeyId: 'key', secretAccessKey: new SecretText('canary') },
  };

  test.each<[Partial<S3Settings>]>([
    [{}],
    [{ endpoint: 'https://store.example.com', forcePathStyle: true }],
    [{ endpoint: 'http://127.0.0.1:9000', insecure: true }],
    [
      {
        serverSideEncryption: { type: 'aws:kms', kmsKeyID: 'arn:aws:kms:eu-central-1:1:key/2' },
        region: 'eu-central-1',
      },
    ],
    [{ root: '' }],
  ])('%o are accepted', (changes) => {
    expect(() => checkSettings({ ...good, ...changes })).not.toThrow();
  });

  test.each<[Partial<S3Settings>, string]>([
    [{ bucket: 'ab' }, 'the bucket name'],
    [{ bucket: '../x' }, 'the bucket name'],
    [{ bucket: 'bucket/key' }, 'the bucket name'],
    [{ root: 'a/../..' }, 'begins with a dot'],
    [{ region: 'eu central' }, 'the region'],
    [{ endpoint: 'store.example.com' }, 'is not an address'],
    [{ endpoint: 'ftp://store.example.com' }, 'is not an address'],
    [{ endpoint: 'http://store.example.com' }, 'set insecure'],
    [{ endpoint: 'https://user:canary@store.example.com' }, 'credentials into the Secret'],
    [{ endpoint: 'https://store.example.com?x=1' }, 'write the address alone'],
    [{ serverSideEncryption: { type: 'AES256', kmsKeyID: 'key' } }, 'requires the encryption type aws:kms'],
  ])('%o are refused: %s', (changes, message) => {
    const refusal = (() => {
      try {
        checkSettings({ ...good, ...changes });
      } catch (error) {
        return error as Error;
      }
      return undefined;
    })();
    expect(refusal).toMatchObject({ handling: { kind: 'stall' }, message: expect.stringContaining(message) });
    expect(refusal?.message).not.toContain('canary');
  });
});
