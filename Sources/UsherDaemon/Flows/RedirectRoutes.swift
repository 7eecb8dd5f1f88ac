import UsherCore
import UsherFlows

/// The redirect that one flow expects, and the closure that receives the answer.
final class RedirectRoute: Sendable {
  let expectation: RedirectExpectation
  /// The uid of the user whose browser may deliver the provider's redirect.
  let owner: UInt32
  let onAnswer: @Sendable (AuthorizationResponse) async -> RedirectPage?

  init(
    expectation: RedirectExpectation, owner: UInt32,
    onAnswer: @escaping @Sendable (AuthorizationResponse) async -> RedirectPage?
  ) {
    self.expectation = expectation
    self.owner = owner
    self.onAnswer = onAnswer
  }

  fileprivate var key: RedirectRoutes.Key { expectation.key }
}

/// The flows that wait at one listener, found by path and state with one look-up.
///
/// The bucket of a look-up depends on a randomly seeded hash, and its entries are compared in
/// constant time. So response times do not reveal how close a guess is.
struct RedirectRoutes {
  fileprivate struct Key: Hashable {
    let path: Secret
    /// The expected OAuth `state`; nil if the path itself is the secret.
    let state: Secret?
  }

  enum Match {
    case route(RedirectRoute)
    /// A flow waits at this path, but with another state.
    case otherState
    case otherPath
  }

  /// The number of waiting flows at a path.
  private struct Count {
    var all = 0
    /// Those whose answer is the body of a POST request.
    var posted = 0

    mutating func add(_ number: Int, _ route: RedirectRoute) {
      all += number
      if route.expectation.form.isPosted { posted += number }
    }
  }

  private var routes: [Key: RedirectRoute] = [:]
  private var paths: [Secret: Count] = [:]

  var isEmpty: Bool { routes.isEmpty }

  /// Adds the route of a flow.
  ///
  /// - Returns: False if another flow waits for an answer with the same path and state; that flow
  ///   stays registered.
  mutating func insert(_ route: RedirectRoute) -> Bool {
    guard routes[route.key] == nil else { return false }
    routes[route.key] = route
    paths[route.key.path, default: Count()].add(1, route)
    return true
  }

  func isStateInUse(_ expectation: RedirectExpectation) -> Bool { routes[expectation.key] != nil }

  mutating func remove(_ route: RedirectRoute) {
    guard routes[route.key] === route else { return }
    routes[route.key] = nil
    paths[route.key.path]?.add(-1, route)
    if paths[route.key.path]?.all == 0 { paths[route.key.path] = nil }
  }

  /// Finds the flow for which a request is meant.
  ///
  /// - Parameter parameters: The query of the request's URL, without the `?`, or the body.
  func find(path: Secret, parameters: String) -> Match {
    guard paths[path] != nil else { return .otherPath }
    if let route = routes[Key(path: path, state: nil)] { return .route(route) }
    for isSigned in [false, true] {
      guard let state = RedirectParseResult.state(in: parameters, isSigned: isSigned),
        let route = routes[Key(path: path, state: state)],
        !isSigned || route.expectation.form.isSigned
      else { continue }
      return .route(route)
    }
    return .otherState
  }

  func expectsPost(at path: Secret) -> Bool { paths[path].map { $0.posted > 0 } ?? false }
}

extension RedirectExpectation {
  fileprivate var key: RedirectRoutes.Key {
    RedirectRoutes.Key(path: Secret(path), state: form.isKnownByPath ? nil : state)
  }

  func uri(port: Int) -> String { "http://\(authority(port: port))\(path)" }

  func authority(port: Int) -> String {
    if isLocalhost { return "localhost:\(port)" }
    return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
