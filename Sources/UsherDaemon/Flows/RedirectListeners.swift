import Logging
import NIOCore
import NIOPosix
import Synchronization
import UsherCore
import UsherFlows
import UsherSystem

import var Glibc.EADDRINUSE
import var Glibc.EADDRNOTAVAIL
import var Glibc.EAFNOSUPPORT
import var Glibc.EMFILE
import var Glibc.ENFILE

/// Opens the loopback listeners to which providers redirect browsers (RFC 8252 §7.3, §8.3).
///
/// A single listener at an address and port serves all flows that wait there, of any user and
/// provider, and releases the port when the last one stops. An answer is matched to its flow by
/// path and state.
final class RedirectListeners: Sendable {
  /// The maximum number of open listeners. Beyond it, a flow that needs no fixed port shares an
  /// open listener.
  static let maxListeners = 256
  /// How many ports are tried for a redirect to `localhost`, of which another program may hold one
  /// address.
  private static let maxPortAttempts = 8

  private let dependencies: Dependencies
  private let group: any EventLoopGroup
  private let validator: RedirectValidator
  private let connections = RedirectConnections()
  private let ports = Mutex<[SocketAddress: RedirectPort]>([:])
  private let portLock = AsyncKeyedLock<SocketAddress>()
  private let portInUseNotice: RepeatedNotice

  /// - Parameter group: The event loops of the listeners. Slow work should not run on them.
  init(dependencies: Dependencies, group: any EventLoopGroup) {
    self.dependencies = dependencies
    self.group = group
    validator = RedirectValidator(dependencies)
    portInUseNotice = RepeatedNotice(dependencies.clock)
  }

  /// Starts to listen for the redirect of one flow.
  ///
  /// - Parameters:
  ///   - owner: Only a browser of this user may deliver the answer. Otherwise one user could
  ///     complete another user's sign-in with an account of their own.
  ///   - onAnswer: Receives each answer that has the flow's path and state and comes from the
  ///     owner's browser. Returns the page for the browser; nil if the outcome is unknown.
  func open(
    _ expectation: RedirectExpectation, for owner: UInt32,
    onAnswer: @escaping @Sendable (AuthorizationResponse) async -> RedirectPage?
  ) async throws(RedirectListenError) -> RedirectListener {
    let route = RedirectRoute(expectation: expectation, owner: owner, onAnswer: onAnswer)
    guard
      let address = try? SocketAddress(ipAddress: expectation.host, port: expectation.port ?? 0)
    else { throw .failed }
    if expectation.port == nil {
      if let port = shared(route) { return listener(port, route) }
      return listener(try await bind(address, route), route)
    }
    let port = try await portLock.withLock(address) { () throws(RedirectListenError) in
      try await join(address, route)
    }
    return listener(port, route)
  }

  private func join(
    _ address: SocketAddress, _ route: RedirectRoute
  ) async throws(RedirectListenError) -> RedirectPort {
    guard let port = ports.withLock({ $0[address] }) else { return try await bind(address, route) }
    switch port.add(route) {
    case .added:
      do throws(RedirectListenError) {
        try await serve(route, at: port, address.port ?? 0)
      } catch {
        _ = port.remove(route)
        throw error
      }
      return port
    case .stateInUse: throw .stateInUse
    case .closed: break
    }
    // The port is being closed; once it is closed, it can be bound again.
    try? await port.closed()
    return try await bind(address, route)
  }

  /// Whether another flow waits at a fixed port for an answer with the same path and state.
  func isStateInUse(_ expectation: RedirectExpectation) -> Bool {
    guard let number = expectation.port,
      let address = try? SocketAddress(ipAddress: expectation.host, port: number),
      let port = ports.withLock({ $0[address] })
    else { return false }
    return port.isStateInUse(expectation)
  }

  /// Returns an open port of the same host to share if the limit is reached; otherwise nil.
  private func shared(_ route: RedirectRoute) -> RedirectPort? {
    let open = ports.withLock { $0.count < Self.maxListeners ? [] : Array($0) }
    return open.first {
      $0.key.ipAddress == route.expectation.host
        && (!route.expectation.isLocalhost || $0.value.servesLocalhost)
        && $0.value.add(route) == .added
    }?.value
  }

  private func listener(_ port: RedirectPort, _ route: RedirectRoute) -> RedirectListener {
    RedirectListener(port, route) { [connections] in connections.closeAll(of: port) }
  }

  private func bind(
    _ address: SocketAddress, _ route: RedirectRoute
  ) async throws(RedirectListenError) -> RedirectPort {
    guard dependencies.descriptors.hasRoom(for: .provider) else {
      throw .noDescriptors(DescriptorBudget.exhausted)
    }
    let port = RedirectPort(route)
    var attempts = 1
    while true {
      guard let channel = try await listen(at: address, for: port, route.owner) else {
        throw .failed
      }
      // There is no address if the kernel did not report it, or if the socket is closed already.
      guard let bound = channel.localAddress, let number = bound.port, number > 0 else {
        channel.close(promise: nil)
        throw .failed
      }
      do throws(RedirectListenError) {
        try await serve(route, at: port, number)
      } catch {
        channel.close(promise: nil)
        guard case .portInUse = error, address.port == 0, attempts < Self.maxPortAttempts else {
          throw error
        }
        attempts += 1
        continue
      }
      register(port, at: bound, number, channel)
      return port
    }
  }

  /// Listens at the IPv6 loopback address, too, if the redirect URI has the host `localhost`. A
  /// browser resolves that to either address, and another user who holds the port at one of them
  /// would get the provider's answer.
  private func serve(
    _ route: RedirectRoute, at port: RedirectPort, _ number: Int
  ) async throws(RedirectListenError) {
    guard route.expectation.isLocalhost, !port.servesLocalhost else { return }
    guard let address = try? SocketAddress(ipAddress: "::1", port: number) else { throw .failed }
    // Without that address on the machine, nobody can listen there.
    port.serveLocalhost(with: try await listen(at: address, for: port, route.owner))
  }

  /// Opens a listening socket.
  ///
  /// - Returns: Nil if the machine does not have the address.
  private func listen(
    at address: SocketAddress, for port: RedirectPort, _ owner: UInt32
  ) async throws(RedirectListenError) -> (any Channel)? {
    do {
      return try await channel(at: address, for: port)
    } catch {
      switch (error as? IOError)?.errnoCode {
      case EADDRNOTAVAIL, EAFNOSUPPORT: return nil
      case EADDRINUSE: throw await portInUse(address, owner)
      case EMFILE, ENFILE: throw .noDescriptors(DescriptorBudget.exhausted)
      default: throw .failed
      }
    }
  }

  private func channel(
    at address: SocketAddress, for port: RedirectPort
  ) async throws -> any Channel {
    if let bind = dependencies.sockets.bindForBrowsers { return try await bind(address) }
    return try await ServerBootstrap.loopback(on: group, dependencies) {
      [connections, validator] channel in
      connections.admit(channel, to: port).map { RedirectHandler(validator, port, $0) }
    }
    .childChannelOption(.maxMessagesPerRead, value: 1)
    .bind(to: address).get()
  }

  private func register(
    _ port: RedirectPort, at address: SocketAddress, _ number: Int, _ channel: any Channel
  ) {
    ports.withLock { $0[address] = port }
    channel.closeFuture.whenComplete { [weak self] _ in
      self?.ports.withLock { ports in
        if ports[address] === port { ports[address] = nil }
      }
    }
    port.opened(channel, number)
  }

  private func portInUse(_ address: SocketAddress, _ owner: UInt32) async -> RedirectListenError {
    let port = address.port ?? 0
    let users = await dependencies.blocking.run { [sockets = dependencies.sockets] in
      address.endpoint.flatMap(sockets.loopbackListeners) ?? []
    }
    let known = await dependencies.lookups.names(of: users)
    let names = users.sorted().map { known[$0] ?? "\($0)" }
    // The kernel's list does not show a socket that is bound but does not listen. So an empty
    // result may mean another user's socket.
    let isOtherUser = users != [owner]
    let holder =
      names.isEmpty ? "an unknown user" : "user \(names.joined(separator: " and "))"
    if isOtherUser, let count = portInUseNotice.due() {
      dependencies.log.warning(
        "another user's program uses the redirect port of a sign-in",
        metadata: [
          "port": .stringConvertible(port), "holder": .string(holder),
          "count": .stringConvertible(count),
        ])
    }
    return .portInUse(
      "port \(port) of the redirect is in use by \(holder)", byOtherUser: isOtherUser)
  }
}

/// The reason why no redirect listener could be opened.
enum RedirectListenError: Error {
  /// The port is in use by another program.
  ///
  /// - Parameter byOtherUser: Whether a user other than the flow's holds the port, or may hold it.
  case portInUse(String, byOtherUser: Bool)
  /// Another flow waits at the port for an answer with the same OAuth `state`.
  case stateInUse
  /// The listener would need one of the last file descriptors, which are reserved.
  case noDescriptors(UsherError)
  case failed
}

/// The registration of one flow at a listener.
final class RedirectListener: Sendable {
  let redirectURI: String
  private let port: RedirectPort
  private let route: RedirectRoute
  private let closeConnections: @Sendable () -> Void

  fileprivate init(
    _ port: RedirectPort, _ route: RedirectRoute, closeConnections: @escaping @Sendable () -> Void
  ) {
    self.port = port
    self.route = route
    self.closeConnections = closeConnections
    redirectURI = route.expectation.uri(port: port.number ?? route.expectation.port ?? 0)
  }

  /// Stops listening for this flow. A browser that waits for its page still gets the page.
  func close() { _ = port.remove(route) }

  /// Stops listening for this flow. If no other flow waits at the listener, closes its connections
  /// too.
  func closeAll() {
    if port.remove(route) { closeConnections() }
  }
}

/// A port that listens for browser redirects, and its waiting flows; closed after the last one.
final class RedirectPort: Sendable {
  private struct State {
    var routes: RedirectRoutes
    var channels: [any Channel] = []
    var servesLocalhost = false
    var number: Int?
    var isClosed = false
  }

  private let state: Mutex<State>

  init(_ first: RedirectRoute) {
    var routes = RedirectRoutes()
    _ = routes.insert(first)
    state = Mutex(State(routes: routes))
  }

  /// Whether nobody else can receive a redirect to `localhost` at this port.
  var servesLocalhost: Bool { state.withLock { $0.servesLocalhost } }

  /// The port number; nil until the socket is bound.
  var number: Int? { state.withLock { $0.number } }

  enum Admission {
    case added
    /// Another flow waits at this port for an answer with the same path and state.
    case stateInUse
    /// The port is closed or being closed.
    case closed
  }

  func add(_ route: RedirectRoute) -> Admission {
    state.withLock { state in
      guard !state.isClosed else { return .closed }
      return state.routes.insert(route) ? .added : .stateInUse
    }
  }

  func isStateInUse(_ expectation: RedirectExpectation) -> Bool {
    state.withLock { $0.routes.isStateInUse(expectation) }
  }

  /// Removes a flow, and closes the port if this was the last flow.
  ///
  /// - Returns: Whether no flow waits at the port any more.
  func remove(_ route: RedirectRoute) -> Bool {
    let (isLast, channels) = state.withLock { state in
      state.routes.remove(route)
      guard state.routes.isEmpty else { return (false, [] as [any Channel]) }
      state.isClosed = true
      return (true, state.channels)
    }
    for channel in channels { channel.close(promise: nil) }
    return isLast
  }

  func find(path: Secret, parameters: String) -> RedirectRoutes.Match {
    state.withLock { $0.routes.find(path: path, parameters: parameters) }
  }

  /// Whether a flow at this path waits for an answer in the body of a POST request.
  func expectsPost(at path: Secret) -> Bool {
    state.withLock { $0.routes.expectsPost(at: path) }
  }

  func opened(_ channel: any Channel, _ number: Int) {
    add(channel) { $0.number = number }
  }

  /// Records that the port serves redirects to `localhost`.
  ///
  /// - Parameter channel: The listener at the IPv6 loopback address; nil if the machine has no such
  ///   address.
  func serveLocalhost(with channel: (any Channel)?) {
    add(channel) { $0.servesLocalhost = true }
  }

  private func add(_ channel: (any Channel)?, _ change: (inout State) -> Void) {
    let isClosed = state.withLock { state in
      if let channel { state.channels.append(channel) }
      change(&state)
      return state.isClosed
    }
    if isClosed { channel?.close(promise: nil) }
  }

  /// Waits until the sockets are closed, so that the port can be bound again.
  func closed() async throws {
    for channel in state.withLock({ $0.channels }) { try await channel.closeFuture.get() }
  }
}
