import JSONRPC
import Logging
import Synchronization
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

/// Sends calls to providers, with the credentials that each call needs.
///
/// Logs a call's provider, name and outcome, but never a URL's query, a header or a body.
final class ProviderHTTP: ProviderObserver {
  private let transport: any ProviderTransport
  private let credentials: Credentials
  private let health: ProviderHealth
  private let dependencies: Dependencies
  private let clientTokens: ClientTokens
  private let refusedMethods = Mutex(RefusedAuthMethods())
  private let dpopNonces = Mutex(DPoPNonces())
  private let inFlight = WorkCounter()

  init(
    through transport: any ProviderTransport, credentials: Credentials, health: ProviderHealth,
    dependencies: Dependencies
  ) {
    self.transport = transport
    self.credentials = credentials
    self.health = health
    self.dependencies = dependencies
    clientTokens = ClientTokens(dependencies: dependencies)
    dependencies.configStore.register(self)
  }

  /// Renders a call as an HTTP request and sends it. Never throws: errors become outcomes.
  ///
  /// A call that needs the daemon's own client token gets it. If the provider rejects that token,
  /// the call is repeated once with a new one. So is a call whose proof lacks a nonce.
  ///
  /// - Parameters:
  ///   - flow: The credential tags of the call's flow; nil for a call outside a flow.
  ///   - accessToken: The access token of the call's account.
  func send(
    _ call: any ProviderCall, for provider: ProviderConfig, in flow: CredentialTags? = nil,
    accessToken: Secret? = nil
  ) async -> CallOutcome {
    let origin = Origin(provider: provider, flow: flow)
    guard let grant = call.clientToken else {
      return await sendAuthenticated(call, origin, accessToken)
    }
    do throws(ClientTokens.Unavailable) {
      let token = try await clientToken(by: grant, for: origin)
      let outcome = await send(call, origin, accessToken, clientToken: token)
      guard case .reply(let reply) = outcome, call.refusesClientToken(reply) else { return outcome }
      let other = try await clientToken(by: grant, for: origin, otherThan: token)
      return await send(call, origin, accessToken, clientToken: other)
    } catch {
      return error.outcome
    }
  }

  /// Sends a call, and repeats it with the next method of client authentication if the provider
  /// refuses the first one. The method that the provider accepts is remembered. If it refuses both,
  /// only the first one is tried for a while.
  private func sendAuthenticated(
    _ call: any ProviderCall, _ origin: Origin, _ accessToken: Secret?
  ) async -> CallOutcome {
    let endpoint = RefusedAuthMethods.Endpoint(
      provider: origin.provider.name, isRevocation: call.revokedToken != nil)
    let refused = refusedMethods.withLock { $0.count(at: endpoint) }
    let outcome = await send(
      call, origin, accessToken, clientToken: nil, clientAuthAttempt: refused)
    guard call.authenticatesClient, origin.provider.definition.oauthClient.triesMethods,
      outcome.refusesClient,
      refusedMethods.withLock({
        $0.mayTryAnother(at: endpoint, now: dependencies.clock.monotonicNow())
      })
    else { return outcome }
    let another = await send(
      call, origin, accessToken, clientToken: nil, clientAuthAttempt: refused + 1)
    refusedMethods.withLock { methods in
      if another.refusesClient {
        methods.recordRefusal(at: endpoint, now: dependencies.clock.monotonicNow())
      } else if case .reply = another {
        methods.recordAccepted(refused + 1, at: endpoint)
      }
    }
    return another
  }

  /// The provider to which a call is sent, and the tags of the credentials that its flow may use;
  /// nil outside of a flow.
  private struct Origin {
    let provider: ProviderConfig
    let flow: CredentialTags?
  }

  private func clientToken(
    by grant: any ClientTokenCall, for origin: Origin, otherThan refused: Secret? = nil
  ) async throws(ClientTokens.Unavailable) -> Secret {
    try await clientTokens.token(for: origin.provider, by: grant, otherThan: refused) { call in
      await self.send(call, origin, nil, clientToken: nil)
    }.get()
  }

  private func send(
    _ call: any ProviderCall, _ origin: Origin, _ accessToken: Secret?, clientToken: Secret?,
    clientAuthAttempt: Int = 0
  ) async -> CallOutcome {
    inFlight.begin()
    defer { inFlight.end() }
    let provider = origin.provider
    let outcome: CallOutcome
    do throws(UsherError) {
      guard dependencies.descriptors.hasRoom(for: .provider) else {
        throw DescriptorBudget.exhausted
      }
      let files = try await credentials.contents(of: secretFiles(of: call, provider))
      let request = try render(call, origin, accessToken, clientToken, clientAuthAttempt, files)
      let first = await attempt(request, provider)
      if call.carriesProof, case .reply(let reply) = first, reply.demandsDPoPNonce {
        let proven = try render(call, origin, accessToken, clientToken, clientAuthAttempt, files)
        outcome = await attempt(proven, provider)
      } else {
        outcome = first
      }
      if !outcome.concernsOneAccount(call) {
        health.record(
          outcome, of: provider, by: call.endpoint, at: dependencies.clock.monotonicNow())
      }
    } catch {
      // Nothing was sent, so the outcome says nothing about the provider's health.
      outcome = .unreachable(message: error.message, sent: false)
    }
    dependencies.log.debug(
      "called provider",
      metadata: [
        "provider": .string(provider.name.rawValue), "call": .string(call.name),
        "outcome": .string(outcome.summary),
      ])
    return outcome
  }

  /// Signs a request object with the private key of the provider's client. Nothing is sent.
  func sign(
    _ object: RequestObject, for provider: ProviderConfig, in flow: CredentialTags
  ) -> SignedRequest {
    guard let oidc = Provider<OIDCSettings>(provider) else {
      return .refused(message: "provider \(provider.name) is not of a type that signs requests")
    }
    let callCredentials = credentials.callCredentials(of: provider, in: flow)
    do throws(UsherError) {
      return .signed(
        try object.signed(
          RenderContext(
            provider: oidc, credential: callCredentials.credential,
            transition: dependencies.transitionContext())))
    } catch {
      return .refused(
        message: (callCredentials.change ?? callCredentials.missing ?? error).message)
    }
  }

  /// Throws if the credential that the provider's calls need is not set.
  func checkCredential(of provider: ProviderConfig) throws(UsherError) {
    _ = try credentials.credential(of: provider)
  }

  /// Returns the reason why a flow's calls that need a credential are not sent; nil if they are
  /// sent.
  func change(of provider: ProviderConfig, in flow: CredentialTags) -> UsherError? {
    credentials.callCredentials(of: provider, in: flow).change
  }

  /// Whether no request is in progress and no connection is being closed.
  var isIdle: Bool { inFlight.isIdle && transport.closing.isIdle }

  /// Returns when requests and connections have ended, or at once if the task is cancelled.
  func waitUntilIdle() async {
    await inFlight.waitUntilIdle()
    await transport.closing.waitUntilIdle()
  }

  /// Aborts the requests in progress. No request is sent any more.
  func shutdown() async { await transport.shutdown() }

  /// Forgets the client tokens of the changed providers, and closes connections that no configured
  /// provider needs any more.
  func providersChanged(_ providers: Set<ProviderName>) {
    clientTokens.removeTokens(of: providers)
    refusedMethods.withLock { $0.remove(providers) }
    transport.retain(dependencies.config.providers.map(\.http))
  }

  private func secretFiles<Call: ProviderCall>(
    of call: Call, _ provider: ProviderConfig
  ) -> [String] {
    Provider<Call.Settings>(provider).map { call.secretFiles($0.settings) } ?? []
  }

  /// Renders a provider call as an HTTP request. If a credential is not set, or was set for another
  /// provider, this throws only if the call contains the credential.
  private func render<Call: ProviderCall>(
    _ call: Call, _ origin: Origin, _ accessToken: Secret?, _ clientToken: Secret?,
    _ clientAuthAttempt: Int, _ files: [String: Secret]
  ) throws(UsherError) -> HTTPRequest {
    guard let provider = Provider<Call.Settings>(origin.provider) else {
      throw UsherError(
        .internalError, "provider \(origin.provider.name) is not of the type of call \(call.name)")
    }
    let callCredentials = credentials.callCredentials(of: origin.provider, in: origin.flow)
    do throws(UsherError) {
      return try call.render(
        RenderContext(
          provider: provider, credential: callCredentials.credential,
          credentials: callCredentials.named, files: files,
          accessToken: accessToken, clientToken: clientToken,
          clientAuthAttempt: clientAuthAttempt, dpopNonces: dpopNonces.withLock { $0 },
          transition: dependencies.transitionContext()))
    } catch {
      // The reason why the credential is missing is more useful than the call's error that it needs
      // one.
      throw callCredentials.change ?? callCredentials.missing ?? error
    }
  }

  /// Sends the request once: neither this function nor the transport repeats it. Records the nonce
  /// that the server demands in the proofs of later requests.
  private func attempt(_ request: HTTPRequest, _ provider: ProviderConfig) async -> CallOutcome {
    let requestedAt = dependencies.clock.now()
    FailPoint.reach("call.before-send")
    let outcome = await transport.send(request, by: provider.http)
    FailPoint.reach("call.after-reply")
    guard case .reply(var reply) = outcome else { return outcome }
    dpopNonces.withLock { $0.record(reply, from: request.url) }
    reply.requestedAt = requestedAt
    if reply.headers["retry-after"] != nil { reply.receivedAt = dependencies.clock.now() }
    return .reply(reply.withoutByteOrderMark.withoutEchoes(of: request))
  }
}

extension CallOutcome {
  /// Whether the outcome is one account's rate limit, which must not slow down other accounts.
  fileprivate func concernsOneAccount(_ call: any ProviderCall) -> Bool {
    guard call.account != nil, case .reply(let reply) = self else { return false }
    return reply.status == 429
  }

  /// Whether the provider refuses the client or its method of authentication (RFC 6749 §5.2).
  fileprivate var refusesClient: Bool {
    guard case .reply(let reply) = self, [400, 401].contains(reply.status) else { return false }
    return reply.jsonObject?["error"]?.stringValue == "invalid_client"
  }

  var summary: String {
    switch self {
    case .reply(let reply): "status \(reply.status)"
    case .unreachable(let message, _), .unreadable(let message), .noToken(let message): message
    }
  }
}
