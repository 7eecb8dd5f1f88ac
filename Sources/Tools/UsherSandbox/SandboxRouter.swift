import Hummingbird
import NIOCore

/// The context of a request. It has the connection, which a fault may close or reset.
struct SandboxContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel
  /// The base URL of the sandbox, whichever listener has accepted the connection.
  var base: String
  /// The base URL of the listener that has accepted the connection.
  var listener: String
  /// The certificate that the client has presented; nil if it has presented none.
  var certificate: PresentedCertificate?

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
    base = source.channel.sandboxBase
    listener = base
  }
}

/// Registers all endpoints of all backends, the control API and the index page with hummingbird.
struct SandboxRouter: Sendable {
  let responder: RouterResponder<SandboxContext>

  /// The largest request body in bytes.
  static let bodyLimit = 1 << 20

  init(_ context: BackendContext, _ backends: [any Backend]) {
    let traffic = Traffic(clock: context.clock)
    let endpoints = backends.flatMap(\.endpoints)
    let controls = ControlAPI(
      users: context.users, traffic: traffic, endpointNames: Set(endpoints.map(\.name)))
    let outbox = OutboxPages(context: context)
    let control = controls.endpoints + outbox.controls + backends.flatMap(\.controls)
    let index = IndexPage(context: context, backends: backends, controls: control)
    let router = Router(context: SandboxContext.self, options: .autoGenerateHeadEndpoints)
    Self.add(endpoints, to: router) { await traffic.handle($0, to: $1) }
    Self.add(control + [index.endpoint, outbox.page], to: router) { call, endpoint in
      if let rejection = call.rejection { return .complete(rejection) }
      return .complete(await endpoint.handle(call))
    }
    responder = router.buildResponder()
  }

  private static func add(
    _ endpoints: [Endpoint], to router: Router<SandboxContext>,
    deliver: @escaping @Sendable (EndpointCall, Endpoint) async -> Delivery
  ) {
    for (path, rows) in Dictionary(grouping: endpoints, by: \.path) {
      for row in rows {
        router.on(RouterPath(path), method: row.method.wire) { request, context in
          let delivery: Delivery
          do {
            delivery = await deliver(try await EndpointCall(request, context, row), row)
          } catch {
            delivery = .complete(error.reply)
          }
          return try await delivery.response(on: context.channel)
        }
      }
      refuseOtherMethods(than: rows.map(\.method), at: path, router)
    }
  }

  private static func refuseOtherMethods(
    than allowed: [Endpoint.Method], at path: String, _ router: Router<SandboxContext>
  ) {
    let names = allowed.map(\.rawValue).joined(separator: ", ")
    var reply = Reply.refusal("invalid_request", "only \(names) is allowed here", status: 405)
    reply.headers["Allow"] = names
    let refusal = Delivery.complete(reply)
    let others = Endpoint.Method.allCases.filter { !allowed.contains($0) }.map(\.wire)
    for method in others {
      router.on(RouterPath(path), method: method) { _, context in
        try await refusal.response(on: context.channel)
      }
    }
  }
}

extension Endpoint.Method {
  fileprivate var wire: HTTPRequest.Method {
    switch self {
    case .get: .get
    case .post: .post
    case .put: .put
    case .patch: .patch
    case .delete: .delete
    }
  }
}

extension EndpointCall {
  /// Reads a request; throws `NIOTooManyBytesError` if its body exceeds the limit.
  fileprivate init(
    _ request: Request, _ context: SandboxContext, _ row: Endpoint
  ) async throws {
    self.init(row.method, request.uri.path, base: context.base)
    listener = context.listener
    certificate = context.certificate
    query = request.uri.query ?? ""
    for (name, text) in context.parameters {
      parameters[String(name)] = PercentEncoding.decodedSegment(text.utf8)
    }
    for field in request.headers {
      headers[field.name.canonicalName] = field.value
    }
    headers["host"] = request.head.authority
    body = Array(buffer: try await request.body.collect(upTo: SandboxRouter.bodyLimit))
  }

  /// The response that refuses a web page of another origin, or nil if the control API may be used.
  fileprivate var rejection: Reply? {
    guard let origin = headers["origin"], origin != base else { return nil }
    return .refusal("invalid_request", "the Origin header names another site", status: 403)
  }
}

extension Channel {
  /// The base URL of the listener that accepted this connection, `http://127.0.0.1:PORT`.
  var sandboxBase: String {
    guard let address = localAddress, let port = address.port else { return "http://127.0.0.1" }
    let host = address.protocol == .inet6 ? "[::1]" : "127.0.0.1"
    return "http://\(host):\(port)"
  }
}

extension Error {
  /// The response to a request that could not be read.
  fileprivate var reply: Reply {
    self is NIOTooManyBytesError
      ? .refusal("invalid_request", "the body is larger than 1 MiB", status: 413)
      : .refusal("invalid_request", "the body could not be read", status: 400)
  }
}
