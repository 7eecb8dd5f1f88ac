import AsyncHTTPClient
import Glibc
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization
import UsherConfig
import UsherCore
import UsherFlows
import UsherSystem

/// Sends calls to providers: time-outs, proxy and private CA as configured, no redirects followed,
/// replies of at most 1 MiB.
///
/// What it logs of a call is name, status and duration; never a URL's query, a header or a body.
final class ProviderHTTP: Sendable {
  static let replyLimit = 1 << 20

  private let group: any EventLoopGroup
  private let credentials: Credentials
  private let health: ProviderHealth
  private let world: World
  private let log: Logger
  private let clientTokens: ClientTokens
  private let clients = Mutex(Clients())
  private let inFlight = Mutex(0)

  private struct Clients {
    var isShutDown = false
    var bySettings: [HTTPSettings.Key: Line] = [:]
    /// Those of the configured providers, once others were: a live flow may have another yet.
    var wanted: Set<HTTPSettings.Key>?

    /// Nobody calls there, and nobody who is configured will.
    func isUnused(_ key: HTTPSettings.Key) -> Bool {
      guard let wanted, let line = bySettings[key] else { return false }
      return line.calls == 0 && !wanted.contains(key)
    }
  }

  /// A client, and how many calls it has under way.
  private struct Line {
    let client: HTTPClient
    var calls = 0
  }

  init(
    on group: any EventLoopGroup, credentials: Credentials, health: ProviderHealth, world: World,
    log: Logger
  ) {
    self.group = group
    self.credentials = credentials
    self.health = health
    self.world = world
    self.log = log
    clientTokens = ClientTokens(clock: world.clock)
  }

  /// Renders and sends; never throws: what goes wrong is an outcome.
  ///
  /// A call that carries a client token gets one; where the provider refuses it, another, once.
  ///
  /// - Parameters:
  ///   - flow: What the call's flow knows its credentials by; nil for a call of no flow.
  ///   - accessToken: That of the call's account.
  func send(
    _ call: any ProviderCall, for provider: ProviderConfig, in flow: CredentialTags? = nil,
    accessToken: Secret? = nil
  ) async -> CallOutcome {
    let asker = Asker(provider: provider, flow: flow)
    guard let grant = call.clientToken else {
      return await send(call, asker, accessToken, clientToken: nil)
    }
    let first = await clientToken(by: grant, for: asker)
    guard case .success(let token) = first else { return first.outcome }
    let outcome = await send(call, asker, accessToken, clientToken: token)
    guard case .reply(let reply) = outcome, call.refusesClientToken(reply) else { return outcome }
    let second = await clientToken(by: grant, for: asker, otherThan: token)
    guard case .success(let other) = second else { return second.outcome }
    return await send(call, asker, accessToken, clientToken: other)
  }

  /// Whose credentials a call is proved by.
  private struct Asker {
    let provider: ProviderConfig
    let flow: CredentialTags?
  }

  private func clientToken(
    by grant: any ClientTokenCall, for asker: Asker, otherThan refused: Secret? = nil
  ) async -> Result<Secret, ClientTokens.Unavailable> {
    await clientTokens.token(for: asker.provider, by: grant, otherThan: refused) { call in
      await self.send(call, asker, nil, clientToken: nil)
    }
  }

  private func send(
    _ call: any ProviderCall, _ asker: Asker, _ accessToken: Secret?, clientToken: Secret?
  ) async -> CallOutcome {
    inFlight.withLock { $0 += 1 }
    defer { inFlight.withLock { $0 -= 1 } }
    let provider = asker.provider
    let outcome: CallOutcome
    do throws(UsherError) {
      guard world.descriptors.hasRoom(for: .provider) else { throw DescriptorBudget.exhausted }
      outcome = await attempt(try render(call, asker, accessToken, clientToken), provider)
      if !outcome.concernsOneAccount(call) {
        health.note(outcome, of: provider, by: call.endpoint, at: world.clock.monotonicNow())
      }
    } catch {
      // Nothing was sent: it says nothing of the provider.
      outcome = .unreachable(message: error.message, sent: false)
    }
    log.debug(
      "called provider",
      metadata: [
        "provider": .string(provider.name.rawValue), "call": .string(call.name),
        "outcome": .string(outcome.summary),
      ])
    return outcome
  }

  /// - Throws: Where the credential the provider's calls need is not set.
  func checkCredential(of provider: ProviderConfig) throws(UsherError) {
    _ = try credentials.credential(of: provider)
  }

  /// Why a flow's calls that need a credential are not sent; nil where they are.
  func change(of provider: ProviderConfig, in flow: CredentialTags) -> UsherError? {
    credentials.proofs(of: provider, in: flow).change
  }

  var isIdle: Bool { inFlight.withLock { $0 == 0 } }

  /// Gives up what is under way; nothing is sent any more.
  func shutdown() async {
    let last = clients.withLock { clients in
      clients.isShutDown = true
      return clients.bySettings.values.map(\.client)
    }
    for client in last { try? await client.shutdown() }
  }

  /// Providers have changed, or are gone: their client tokens are forgotten, and the clients that
  /// nobody has a use for any more go, each when its last call has ended.
  func forget(_ providers: Set<ProviderName>) {
    clientTokens.forget(providers)
    let unused = clients.withLock { clients in
      clients.wanted = Set(world.config.providers.map(\.http.key))
      return clients.bySettings.keys.filter { clients.isUnused($0) }
    }
    for key in unused { drop(key) }
  }

  private func drop(_ key: HTTPSettings.Key) {
    let last = clients.withLock { clients -> HTTPClient? in
      guard clients.isUnused(key), !clients.isShutDown else { return nil }
      return clients.bySettings.removeValue(forKey: key)?.client
    }
    guard let last else { return }
    inFlight.withLock { $0 += 1 }
    Task {
      try? await last.shutdown()
      inFlight.withLock { $0 -= 1 }
    }
  }

  /// A call that needs no credential is rendered without the one that is missing, or is another's.
  private func render(
    _ call: any ProviderCall, _ asker: Asker, _ accessToken: Secret?, _ clientToken: Secret?
  ) throws(UsherError) -> HTTPRequest {
    let proofs = credentials.proofs(of: asker.provider, in: asker.flow)
    do throws(UsherError) {
      return try call.render(
        RenderContext(
          provider: asker.provider, credential: proofs.credential, credentials: proofs.named,
          accessToken: accessToken, clientToken: clientToken, moment: world.moment()))
    } catch {
      // Why there is none says more than that the call cannot do without.
      throw proofs.change ?? proofs.lack ?? error
    }
  }

  private func attempt(_ request: HTTPRequest, _ provider: ProviderConfig) async -> CallOutcome {
    let client: HTTPClient
    do {
      client = try self.client(for: provider.http)
    } catch {
      return .unreachable(message: Trouble(error: error).sentence, sent: false)
    }
    defer { giveBack(provider.http.key) }
    return await exchange(request, client, provider.http)
  }

  /// Sends the request once: neither this nor the client repeats it.
  private func exchange(
    _ request: HTTPRequest, _ client: HTTPClient, _ settings: HTTPSettings
  ) async -> CallOutcome {
    var message = HTTPClientRequest(url: request.url)
    message.method = HTTPMethod(rawValue: request.method.rawValue)
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
      let trouble = Trouble(error: error)
      return .unreachable(message: trouble.sentence, sent: !trouble.isBeforeRequest)
    }
    // The head of an answer is here: whatever fails from now on, the request was sent.
    if (300..<400).contains(response.status.code) {
      return .unreadable(message: "the provider answered with a redirect, which is not followed")
    }
    do {
      let body = try await body(of: response, by: deadline)
      let fields = response.headers.map { ($0.name.lowercased(), $0.value) }
      let headers = Dictionary(fields) { $0 + ", " + $1 }
      let reply = HTTPReply(
        status: Int(response.status.code), headers: headers, body: Array(body.readableBytesView),
        receivedAt: headers["retry-after"] == nil ? nil : world.clock.now())
      return .reply(reply.withoutByteOrderMark.withoutEchoes(of: request))
    } catch is NIOTooManyBytesError {
      return .unreadable(message: "the provider's answer is larger than 1 MiB")
    } catch {
      return .unreachable(message: Trouble(error: error).sentence, sent: true)
    }
  }

  /// The client's own deadline ends with the head of an answer: a body that trickles has this one.
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

  private func client(for settings: HTTPSettings) throws -> HTTPClient {
    try clients.withLock { clients in
      if clients.isShutDown { throw CancellationError() }
      let client =
        try clients.bySettings[settings.key]?.client
        ?? HTTPClient(eventLoopGroup: group, configuration: try settings.clientConfiguration())
      clients.bySettings[settings.key, default: Line(client: client)].calls += 1
      return client
    }
  }

  /// A call has ended.
  private func giveBack(_ key: HTTPSettings.Key) {
    let isUnused = clients.withLock { clients in
      clients.bySettings[key]?.calls -= 1
      return clients.isUnused(key)
    }
    if isUnused { drop(key) }
  }
}

extension Result where Success == Secret, Failure == ClientTokens.Unavailable {
  /// What stands for the outcome of the call that wanted the token.
  fileprivate var outcome: CallOutcome {
    switch self {
    case .success: .noToken(message: "there is no client token")
    case .failure(let unavailable): unavailable.outcome
    }
  }
}

extension HTTPSettings {
  struct Key: Hashable {
    let proxy: String?
    let caFile: String?
    let connectSeconds: Int
  }

  /// Providers with the same way out share a client and its connections.
  fileprivate var key: Key {
    Key(
      proxy: proxy?.settingText, caFile: caFile,
      connectSeconds: connectTimeoutSeconds)
  }

  fileprivate func clientConfiguration() throws -> HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow,
      timeout: .init(connect: .seconds(Int64(connectTimeoutSeconds))))
    configuration.connectionPool.retryConnectionEstablishment = false
    // One slow provider must not make its callers wait for each other.
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
    configuration.decompression = .disabled
    configuration.httpVersion = .http1Only
    var tls = TLSConfiguration.makeClientConfiguration()
    // RFC 9325 §3.1.1, §4.2: the library's own default begins with TLS 1.0 and CBC ciphers.
    tls.minimumTLSVersion = .tlsv12
    tls.cipherSuiteValues = Self.ciphers
    if let caFile { tls.trustRoots = .file(caFile) }
    configuration.tlsConfiguration = tls
    if let proxy {
      configuration.proxy = .server(host: proxy.host, port: proxy.port)
    }
    return configuration
  }

  /// AEAD with forward secrecy; those of TLS 1.3 are all of that kind.
  private static let ciphers: [NIOTLSCipher] = [
    .TLS_AES_128_GCM_SHA256, .TLS_AES_256_GCM_SHA384, .TLS_CHACHA20_POLY1305_SHA256,
    .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
  ]
}

extension CallOutcome {
  /// One customer's limit is no reason to spare the provider for the others.
  fileprivate func concernsOneAccount(_ call: any ProviderCall) -> Bool {
    guard call.account != nil, case .reply(let reply) = self else { return false }
    return reply.status == 429
  }

  var summary: String {
    switch self {
    case .reply(let reply): "status \(reply.status)"
    case .unreachable(let message, _), .unreadable(let message), .noToken(let message): message
    }
  }
}

/// Why a call has no answer.
private struct Trouble {
  let error: any Error

  /// Whether the error can only occur before a connection is handed to the request; then the provider
  /// saw nothing of it. Any error that is not named here leaves that unknown.
  ///
  /// What the list rests on, in async-http-client 1.37.0 and swift-nio-ssl 2.37.6: a request is written
  /// after `HTTPConnectionPool+Factory` has connected, passed the proxy and completed the handshake.
  /// `handshakeFailed` is made in NIOSSLHandler's handshaking states only, and the four errors about
  /// the server's name while it is checked, which ends the handshake. A raw BoringSSLError and any
  /// other error of NIOSSL may come later: a broken record, a fatal alert, an answer that ends
  /// without close_notify.
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

  /// Where the address is a number there is no search for one, and the refusal comes as it is.
  private var isRefusal: Bool { (error as? IOError)?.errnoCode == ECONNREFUSED }

  /// A sentence for people; the libraries' own texts may repeat a URL with its query.
  var sentence: String {
    switch error {
    case let error as HTTPClientError where error == .deadlineExceeded || error == .readTimeout:
      "the provider did not answer in time"
    case let error as HTTPClientError where error == .connectTimeout:
      "no connection to the provider in time"
    case let error as HTTPClientError where error == .remoteConnectionClosed:
      "the provider closed the connection before it answered"
    case is NIOConnectionError: "the provider refuses connections or its name is unknown"
    case is IOError where isRefusal: "the provider refuses connections"
    case is NIOSSLError where isBeforeRequest, is NIOSSLExtraError where isBeforeRequest:
      "no trusted TLS connection to the provider"
    case is CancellationError: "the call was given up"
    default: "the exchange with the provider broke off"
    }
  }
}
