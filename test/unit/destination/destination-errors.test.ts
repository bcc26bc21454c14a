/** Tests how logfleet classifies errors from disks and object stores, and which messages it shows for them. */
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { SecretText } from '../../../src/base/secret-text.ts';
import { azureErrors } from '../../../src/destination/azure/azure-error.ts';
import { gcsErrorOf, gcsErrors, isTransient, tokenError } from '../../../src/destination/gcs/gcs-error.ts';
import { checkGcsSettings } from '../../../src/destination/gcs/gcs-settings.ts';
import { s3Errors } from '../../../src/destination/s3/s3-error.ts';
import { checkS3Settings, type S3Settings } from '../../../src/destination/s3/s3-settings.ts';
import { diskError } from '../../../src/destination/volume/disk-error.ts';

describe('an error of the file system', () => {
  test.each([
    ['ENOSPC', 'destination.full', 'wait', 'free some space'],
    ['EDQUOT', 'destination.full', 'wait', 'free some space'],
    ['EFBIG', 'destination.full', 'wait', 'create another export with a smaller maxPartSize'],
    ['EACCES', 'destination.denied', 'stall', 'the user that logfleet runs as'],
    ['EROFS', 'destination.denied', 'stall', 'mount the volume'],
    ['EIO', 'destination.away', 'backoff', 'will try again'],
    ['ESTALE', 'destination.away', 'backoff', 'will try again'],
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
    expect(s3Errors.error('read plan', cause)).toMatchObject({ code: expected, handling: { kind: handling } });
  });

  test('is one short line for any message of the store', () => {
    const cause = Object.assign(new Error(`no\n\u0000${'!'.repeat(3_000)}`), { name: 'AccessDenied' });
    const { message } = s3Errors.error('read plan', cause);
    expect(message).toMatch(
      /^cannot read plan: AccessDenied: no !+…; grant these credentials the permissions s3:ListBucket/,
    );
    expect(message.length).toBeLessThan(700);
  });
});

describe('an error of Google Cloud Storage', () => {
  test.each([
    [{ code: 'ECONNREFUSED' }, 'destination.away', 'backoff'],
    [{ code: 'ETIMEDOUT' }, 'destination.away', 'backoff'],
    [{ code: '503', status: 503 }, 'destination.away', 'backoff'],
    [{ code: '429', status: 429 }, 'destination.away', 'backoff'],
    [{ code: 'SELF_SIGNED_CERT_IN_CHAIN' }, 'destination.invalid', 'stall'],
    [{ code: '400', status: 400 }, 'destination.credentials', 'stall'],
    [{ code: 'ENOENT' }, 'destination.credentials', 'stall'],
    [{}, 'destination.credentials', 'stall'],
  ])('while it gets a token, with %j, is %s', (members, code, handling) => {
    const config = { headers: { authorization: 'Bearer canary' } };
    const cause = Object.assign(new Error('no'), members, { config });
    const error = gcsErrors.error('read plan', tokenError(cause));
    expect(error).toMatchObject({ code, handling: { kind: handling } });
    expect(inspect(error, { depth: 9 })).not.toContain('canary');
  });

  test.each([
    ['UND_ERR_SOCKET', 'destination.away'],
    ['UND_ERR_HEADERS_TIMEOUT', 'destination.away'],
    ['CERT_HAS_EXPIRED', 'destination.invalid'],
  ])('of the connection, %s, is %s', (code, expected) => {
    expect(gcsErrors.error('read plan', Object.assign(new Error('no'), { code }))).toMatchObject({ code: expected });
  });

  test.each([
    ['plain text', 'No such object: audit/plan', 'HTTP status 404: No such object: audit/plan'],
    ['a page of a proxy', '<html>no</html>', 'HTTP status 404'],
    ['JSON without reasons', '{"error": {"message": "no"}}', 'HTTP status 404: no'],
    ['JSON of another form', '[]', 'HTTP status 404: []'],
  ])('that is %s has a message', (_, body, expected) => {
    expect(gcsErrors.error('read plan', gcsErrorOf(404, body)).message).toContain(`cannot read plan: ${expected}; `);
  });
});

test.each([
  [400, false, 'destination.invalid', false],
  [408, true, 'destination.away', false],
  [409, false, 'destination.away', false],
  [412, false, 'destination.invalid', true],
  [429, true, 'destination.away', false],
  [500, true, 'destination.away', true],
])('status %i: retry %s, %s, object may exist %s', (status, isRepeated, code, mayExist) => {
  const cause = gcsErrorOf(status, '');
  expect([isTransient(cause), gcsErrors.mayHaveCreated(cause)]).toEqual([isRepeated, mayExist]);
  expect(gcsErrors.error('write', cause)).toMatchObject({ code });
});

describe('an error of Azure', () => {
  const tokenErrorOf = (...errors: readonly Error[]) =>
    Object.assign(new Error('no'), { name: 'AggregateAuthenticationError', errors });
  const away = new Error('no network', { cause: { errorCode: 'network_error' } });
  const wrong = new Error('wrong key', { cause: { name: 'ServerError', status: 400 } });
  const absent = Object.assign(new Error('not set'), { name: 'CredentialUnavailableError' });

  test.each([
    ['one identity is refused', [away, wrong], 'destination.credentials'],
    ['the token service is away', [away, absent], 'destination.away'],
  ])('of its tokens is classified if %s', (_, errors, code) => {
    expect(azureErrors.error('write', tokenErrorOf(...errors))).toMatchObject({ code });
  });

  test('contains neither the request nor the response, which contain tokens', () => {
    const cause = Object.assign(new Error('no'), { request: 'token', response: 'token', statusCode: 403 });
    expect(inspect(azureErrors.error('write', cause), { depth: 9 })).not.toContain('token');
  });
});

describe('settings of Google Cloud Storage', () => {
  const good = { bucket: 'audit_logs.example.com', root: 'prefix/logging', credentials: 'ambient' } as const;

  test('are accepted', () => {
    expect(() => checkGcsSettings({ ...good, endpoint: 'http://127.0.0.1:4443', insecure: true })).not.toThrow();
  });

  test.each([
    [{ bucket: 'Audit' }, 'destination.invalid'],
    [{ bucket: 'ab' }, 'destination.invalid'],
    [{ bucket: 'gs://audit' }, 'destination.invalid'],
    [{ root: '../x' }, 'destination.name'],
    [{ endpoint: 'http://127.0.0.1:4443' }, 'destination.invalid'],
    [{ endpoint: 'store' }, 'destination.invalid'],
  ])('%j are refused', (changes, code) => {
    expect(() => checkGcsSettings({ ...good, ...changes })).toThrow(expect.objectContaining({ code }));
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
    expect(() => checkS3Settings({ ...good, ...changes })).not.toThrow();
  });

  test.each<[Partial<S3Settings>, string]>([
    [{ bucket: 'ab' }, 'the bucket name'],
    [{ bucket: '../x' }, 'the bucket name'],
    [{ bucket: 'bucket/key' }, 'the bucket name'],
    [{ root: 'a/../..' }, 'begins with a dot'],
    [{ region: 'eu central' }, 'the region'],
    [{ endpoint: 'store.example.com' }, 'is not a valid URL'],
    [{ endpoint: 'ftp://store.example.com' }, 'is not a valid URL'],
    [{ endpoint: 'http://store.example.com' }, 'set insecure'],
    [{ endpoint: 'https://user:canary@store.example.com' }, 'store the credentials in the Secret'],
    [{ endpoint: 'https://store.example.com?x=1' }, 'set only the URL of the store'],
    [{ serverSideEncryption: { type: 'AES256', kmsKeyID: 'key' } }, 'requires the encryption type aws:kms'],
  ])('%o are refused: %s', (changes, message) => {
    const refusal = (() => {
      try {
        checkS3Settings({ ...good, ...changes });
      } catch (error) {
        return error as Error;
      }
      return undefined;
    })();
    expect(refusal).toMatchObject({ handling: { kind: 'stall' }, message: expect.stringContaining(message) });
    expect(refusal?.message).not.toContain('canary');
  });
});
