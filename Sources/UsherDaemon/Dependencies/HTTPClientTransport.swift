import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization
package import UsherConfig
package import UsherCore
package import UsherFlows

/// Sender of HTTP requests to providers. The daemon sends all its requests through it.
package protocol ProviderTransport: Sendable {
  /// Sends a request once. Neither this method nor a lower layer retries it.
  ///
  /// - Parameter settings: The provider's proxy, certificate authorities and time limits.
  /// - Returns: The unmodified reply; `unreachable`, with whether the provider may have received
  ///   the request; or `unreadable` for a response that is not accepted.
  func send(_ request: HTTPRequest, by settings: HTTPSettings) async -> CallOutcome

  /// Keeps the connections for these settings and closes all others, each when its last call has
  /// ended. Called after a reload of the configuration.
  func retain(_ settings: [HTTPSettings])

  /// The connections that are being closed.
  var closing: WorkCounter { get }

  /// Aborts all calls. Later requests are not sent. Called when the daemon stops.
  func shutdown() async
}

/// The transport over TCP and TLS. Time limits, proxy and certificate authorities are configurable;
/// redirects are not followed, and a reply may have at most 1 MiB.
final class HTTPClientTransport: ProviderTransport {
  static let replyLimit = 1 << 20

  private let group: any EventLoopGroup
  private let clients = Mutex(Clients())
  let closing = WorkCounter()

  private struct Clients {
    var isShutDown = false
    var byKey: [ConnectionKey: SharedClient] = [:]
    /// The settings of the configured providers; nil before the first ``retain(_:)``. A live flow
    /// may still use other settings.
    var configured: Set<HTTPSettings.Key>?

    /// Returns whether no call in progress uses this client and no configured provider needs it.
    func isUnused(_ key: ConnectionKey) -> Bool {
      guard let configured, let shared = byKey[key] else { return false }
      return shared.calls == 0 && (shared.isOutdated || !configured.contains(key.settings))
    }
  }

  /// An HTTP client and the number of its calls in progress.
  private struct SharedClient {
    let client: HTTPClient
    var calls = 0
    /// Whether the client's certificate may have been replaced since the last call began.
    var isOutdated = false
  }

  /// What the calls of one client have in common. Connections with a certificate belong to one
  /// provider: another one must not act as its client.
  private struct ConnectionKey: Hashable {
    let settings: HTTPSettings.Key
    let provider: ProviderName?
    let chain: [[UInt8]]

    init(_ settings: HTTPSettings, _ certificate: ClientCertificate?) {
      self.settings = settings.key
      provider = certificate?.provider
      chain = certificate?.chain ?? []
    }
  }

  init(on group: any EventLoopGroup) { self.group = group }

  func send(_ request: HTTPRequest, by settings: HTTPSettings) async -> CallOutcome {
    let client: HTTPClient
    let key = ConnectionKey(settings, request.certificate)
    do {
      client = try self.client(key, settings, request.certificate)
    } catch {
      return .unreachable(
        message: TransportError(error: error, certificate: request.certificate).sentence,
        sent: false)
    }
    defer { release(key) }
    return await exchange(request, client, settings)
  }

  func shutdown() async {
    let last = clients.withLock { clients in
      clients.isShutDown = true
      return clients.byKey.values.map(\.client)
    }
    for client in last { try? await client.shutdown() }
  }

  func retain(_ settings: [HTTPSettings]) {
    let unused = clients.withLock { clients in
      clients.configured = Set(settings.map(\.key))
      for key in clients.byKey.keys where key.provider != nil {
        clients.byKey[key]?.isOutdated = true
      }
      return clients.byKey.keys.filter { clients.isUnused($0) }
    }
    for key in unused { drop(key) }
  }

  private func drop(_ key: ConnectionKey) {
    let last = clients.withLock { clients -> HTTPClient? in
      guard clients.isUnused(key), !clients.isShutDown else { return nil }
      closing.begin()
      return clients.byKey.removeValue(forKey: key)?.client
    }
    last?.shutdown { [closing] _ in closing.end() }
  }

  private func exchange(
    _ request: HTTPRequest, _ client: HTTPClient, _ settings: HTTPSettings
  ) async -> CallOutcome {
    var message = HTTPClientRequest(url: request.url)
    message.method = HTTPMethod(rawValue: request.method.rawValue)
    // RFC 9110 §10.1.5. GitHub's API refuses requests without it.
    message.headers.add(name: "User-Agent", value: "usherd")
    for header in request.headers {
      message.headers.replaceOrAdd(name: header.name, value: header.value.revealed())
    }
    if let body = request.body { message.body = .bytes(ByteBuffer(string: body.revealed())) }
    let deadline = ContinuousClock.now + .seconds(settings.requestTimeoutSeconds)
    let response: HTTPClientResponse
    do {
      response = try await client.execute(
        message, deadline: .now() + .seconds(Int64(settings.requestTimeoutSeconds)))
    } catch {
      let failure = TransportError(error: error, certificate: request.certificate)
      return .unreachable(message: failure.sentence, sent: !failure.isBeforeRequest)
    }
    // The response head has arrived, so the request was sent, even if reading the rest fails.
    if (300..<400).contains(response.status.code) {
      return .unreadable(message: "the provider answered with a redirect, which is not followed")
    }
    do {
      let body = try await body(of: response, by: deadline)
      let fields = response.headers.map { ($0.name.lowercased(), $0.value) }
      return .reply(
        HTTPReply(
          status: Int(response.status.code), headers: Dictionary(fields) { $0 + ", " + $1 },
          body: Array(body.readableBytesView)))
    } catch is NIOTooManyBytesError {
      return .unreadable(message: "the provider's answer is larger than 1 MiB")
    } catch {
      return .unreachable(
        message: TransportError(error: error, certificate: request.certificate).sentence,
        sent: true)
    }
  }

  /// Reads the body. The client's own deadline ends with the response head; this deadline bounds a
  /// body that arrives slowly.
  private func body(
    of response: HTTPClientResponse, by deadline: ContinuousClock.Instant
  ) async throws -> ByteBuffer {
    try await withThrowingTaskGroup(of: ByteBuffer.self) { group in
      group.addTask { try await response.body.collect(upTo: Self.replyLimit) }
      group.addTask {
        try await Task.sleep(until: deadline)
        throw HTTPClientError.deadlineExceeded
      }
      defer { group.cancelAll() }
      guard let body = try await group.next() else { throw CancellationError() }
      return body
    }
  }

  private func client(
    _ key: ConnectionKey, _ settings: HTTPSettings, _ certificate: ClientCertificate?
  ) throws -> HTTPClient {
    try clients.withLock { clients in
      if clients.isShutDown { throw CancellationError() }
      let client =
        try clients.byKey[key]?.client
        ?? HTTPClient(
          eventLoopGroup: group, configuration: try settings.clientConfiguration(certificate))
      clients.byKey[key, default: SharedClient(client: client)].calls += 1
      clients.byKey[key]?.isOutdated = false
      return client
    }
  }

  /// Records that a call has ended, and drops its client if no one needs it any more.
  private func release(_ key: ConnectionKey) {
    let isUnused = clients.withLock { clients in
      clients.byKey[key]?.calls -= 1
      return clients.isUnused(key)
    }
    if isUnused { drop(key) }
  }
}

extension HTTPSettings {
  struct Key: Hashable {
    let proxy: String?
    let caFile: String?
    let connectSeconds: Int
  }

  /// The key of a client: providers with the same proxy, certificate authorities and connect
  /// time-out share a client.
  fileprivate var key: Key {
    Key(proxy: proxy?.settingText, caFile: caFile, connectSeconds: connectTimeoutSeconds)
  }

  fileprivate func clientConfiguration(
    _ certificate: ClientCertificate?
  ) throws -> HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow,
      timeout: .init(connect: .seconds(Int64(connectTimeoutSeconds))))
    configuration.connectionPool.retryConnectionEstablishment = false
    // The limit of connections is high, so that callers of a slow provider do not wait for each
    // other.
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
    configuration.decompression = .disabled
    configuration.httpVersion = .http1Only
    var tls = TLSConfiguration.makeClientConfiguration()
    // RFC 9325 §3.1.1 and §4.2 require this; the library's own default allows TLS 1.0 and CBC
    // ciphers.
    tls.minimumTLSVersion = .tlsv12
    tls.cipherSuiteValues = Self.ciphers
    if let caFile { tls.trustRoots = .certificates(try Self.certificates(in: caFile)) }
    if let certificate {
      tls.certificateChain = try certificate.chain.map {
        .certificate(try NIOSSLCertificate(bytes: $0, format: .der))
      }
      tls.privateKey = .privateKey(
        try NIOSSLPrivateKey(bytes: Array(certificate.key.revealed().utf8), format: .pem))
    }
    configuration.tlsConfiguration = tls
    if let proxy {
      configuration.proxy = .server(host: proxy.host, port: proxy.port)
    }
    return configuration
  }

  /// Reads the certificates here, because the library reads them when it connects, and its error
  /// then looks like one of the connection.
  private static func certificates(in caFile: String) throws -> [NIOSSLCertificate] {
    guard let certificates = try? NIOSSLCertificate.fromPEMFile(caFile), !certificates.isEmpty
    else { throw UnusableAuthorities(path: caFile) }
    return certificates
  }

  /// The permitted cipher suites: those with AEAD and forward secrecy. All suites of TLS 1.3 have
  /// both.
  private static let ciphers: [NIOTLSCipher] = [
    .TLS_AES_128_GCM_SHA256, .TLS_AES_256_GCM_SHA384, .TLS_CHACHA20_POLY1305_SHA256,
    .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
  ]
}

/// The error that `ca_file` cannot be read, or has no certificate.
private struct UnusableAuthorities: Error {
  let path: String
}

/// The error of a call that received no response.
private struct TransportError {
  let error: any Error
  /// The certificate that the daemon presented; nil if it presented none.
  let certificate: ClientCertificate?

  /// Whether the error can only occur before the request is sent on a connection, so that the
  /// provider received nothing of the request. False for errors that are not listed here, for which
  /// that is unknown.
  ///
  /// The list relies on async-http-client 1.37.0 and swift-nio-ssl 2.37.6: a request is written
  /// after `HTTPConnectionPool+Factory` has connected, passed the proxy and completed the
  /// handshake. NIOSSLHandler creates `handshakeFailed` only in its handshaking states, and the
  /// four errors about the server's name only during the check that ends the handshake. A raw
  /// BoringSSLError and any other NIOSSL error may come later: a broken record, a fatal alert, a
  /// response that ends without close_notify.
  var isBeforeRequest: Bool {
    switch error {
    case let error as HTTPClientError:
      [
        .connectTimeout, .tlsHandshakeTimeout, .httpProxyHandshakeTimeout,
        .getConnectionFromPoolTimeout, .proxyAuthenticationRequired, .invalidProxyResponse,
        .invalidURL, .emptyHost,
      ].contains(error)
    case let error as NIOSSLExtraError:
      [
        .failedToValidateHostname, .serverHostnameImpossibleToMatch, .cannotUseIPAddressInSNI,
        .invalidSNIHostname,
      ].contains(error)
    case NIOSSLError.handshakeFailed, is NIOConnectionError: true
    default: isRefusal
    }
  }

  /// Whether the server refused the TCP connection. For a numeric address, which is not resolved,
  /// the library reports a refusal as a plain `IOError`.
  private var isRefusal: Bool { (error as? IOError)?.errnoCode == ECONNREFUSED }

  /// Whether the server's TLS alert says that it does not accept the client's certificate (RFC 8446
  /// §6.2). With TLS 1.3 the alert arrives after the client's side of the handshake.
  private var isAlertAboutCertificate: Bool {
    let stack: NIOBoringSSLErrorStack
    switch error {
    case NIOSSLError.handshakeFailed(.sslError(let errors)), BoringSSLError.sslError(let errors):
      stack = errors
    default: return false
    }
    let alerts = [
      "ALERT_BAD_CERTIFICATE", "ALERT_UNSUPPORTED_CERTIFICATE", "ALERT_CERTIFICATE_REVOKED",
      "ALERT_CERTIFICATE_EXPIRED", "ALERT_CERTIFICATE_UNKNOWN", "ALERT_UNKNOWN_CA",
      "ALERT_ACCESS_DENIED", "ALERT_CERTIFICATE_REQUIRED",
    ]
    // The library has no other form of the alert than the text of its error.
    return stack.contains { error in alerts.contains { "\(error)".contains($0) } }
  }

  /// A message for people. The libraries' own messages are not used, because they may contain a URL
  /// with its query, which may contain secrets.
  var sentence: String {
    if let certificate, isAlertAboutCertificate {
      return "the provider refuses the certificate in credential \(certificate.credential); "
        + "register the certificate with the provider, or set another one: "
        + "usherctl credential set \(certificate.credential)"
    }
    return switch error {
    case let error as UnusableAuthorities:
      "ca_file \(error.path) is missing, cannot be read by usherd or has no certificate: name a "
        + "file with the certificates in PEM"
    case let error as HTTPClientError where error == .deadlineExceeded || error == .readTimeout:
      "the provider did not answer in time"
    case let error as HTTPClientError where error == .connectTimeout:
      "no connection to the provider in time"
    case let error as HTTPClientError where error == .remoteConnectionClosed:
      "the provider closed the connection before it answered" + possibleReason
    case is NIOConnectionError: "the provider refuses connections or its name is unknown"
    case is IOError where isRefusal: "the provider refuses connections"
    case is NIOSSLError where isBeforeRequest, is NIOSSLExtraError where isBeforeRequest:
      "no trusted TLS connection to the provider"
    case is CancellationError: "the call was cancelled"
    default: "the connection to the provider broke" + possibleReason
    }
  }

  /// The alert that would tell the reason may be lost when a server closes the connection.
  private var possibleReason: String {
    guard let certificate else { return "" }
    return ", perhaps because it refuses the certificate in credential \(certificate.credential)"
  }
}
