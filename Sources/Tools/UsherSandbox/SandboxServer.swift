import FoundationEssentials
import Glibc
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import NIOSSL
package import ServiceLifecycle
import UnixSignals

extension Sandbox {
  /// Serves until the task is cancelled.
  ///
  /// - Parameter listening: Receives `http://127.0.0.1:PORT` once connections are accepted.
  package func run(listening: @escaping @Sendable (String) async -> Void) async throws {
    try await server(listening).run()
  }

  /// Serves until SIGTERM or SIGINT. Either signal stops it at once and is not an error.
  package func runUntilSignalled(
    listening: @escaping @Sendable (String) async -> Void
  ) async throws {
    let group = ServiceGroup(
      configuration: .init(
        services: [try server(listening)], cancellationSignals: [.sigterm, .sigint],
        logger: Self.logger))
    do {
      try await group.run()
    } catch is CancellationError {
      return
    }
  }

  /// Logs critical messages only: failures are thrown, and hummingbird logs each stop as an error.
  private static let logger = {
    var logger = Logger(label: "usher-sandbox")
    logger.logLevel = .critical
    return logger
  }()

  /// Returns a service that serves until a graceful shutdown, which finishes requests in progress.
  ///
  /// - Parameter listening: Receives `http://127.0.0.1:PORT` once connections are accepted.
  package func server(
    _ listening: @escaping @Sendable (String) async -> Void
  ) throws -> any Service {
    let http = HTTPServerBuilder.http1(configuration: .init(idleTimeout: .seconds(60)))
    let plain = try server(http, port: port) { base in
      tls.plainBase = base
      await listening(base)
    }
    return SandboxService(
      plain: plain,
      encrypted: { listening in
        try server(try tls.serverBuilder(over: http), port: 0, isEncrypted: true) { base in
          await listening("https" + base.dropFirst("http".count))
        }
      }, listener: tls)
  }

  private func server(
    _ builder: HTTPServerBuilder, port: Int, isEncrypted: Bool = false,
    _ listening: @escaping @Sendable (String) async -> Void
  ) throws -> any Service {
    let logger = Self.logger
    return try builder.buildServer(
      configuration: ServerConfiguration(address: .hostname(host, port: port)),
      eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger,
      responder: { request, writer, channel in
        var context = SandboxContext(source: .init(channel: channel, logger: logger))
        if isEncrypted {
          context.base = tls.plainBase ?? context.base
          context.listener = tls.base ?? context.listener
          context.certificate = try await channel.nioSSL_peerCertificate().get()
            .map { try PresentedCertificate($0) }
        }
        var response = try await respond(to: request, context)
        response.headers[.date] = clock.now().httpDate
        try await writer.write(response: response.head, body: response.body)
      },
      onServerRunning: { await listening($0.sandboxBase) })
  }

  private func respond(to request: Request, _ context: SandboxContext) async throws -> Response {
    guard Self.isLoopbackName(request.head.authority) else {
      return try await Delivery.complete(
        .refusal("invalid_request", "the Host header must name a loopback address", status: 421)
      ).response(on: context.channel)
    }
    let response = try await router.responder.respond(to: request, context: context)
    // Only hummingbird's own 404, for a path without a route, has no body.
    guard response.status == .notFound, response.body.contentLength == 0 else { return response }
    return try await Delivery.complete(
      .refusal("not_found", "no such path; see / for a list", status: 404)
    ).response(on: context.channel)
  }

  /// Whether a `Host` header names loopback. Refusing other names prevents DNS rebinding, by which
  /// a web page could read this server.
  private static func isLoopbackName(_ authority: String?) -> Bool {
    guard let authority else { return false }
    let digits = authority.reversed().prefix { $0.isASCII && $0.isNumber }.count
    let host =
      authority.dropLast(digits).last == ":" ? authority.dropLast(digits + 1) : authority[...]
    return ["127.0.0.1", "localhost", "[::1]"].contains(host.lowercased())
  }
}

extension Date {
  /// The date in the format of a `Date` header (RFC 9110 §5.6.7).
  var httpDate: String {
    var seconds = time_t(timeIntervalSince1970.rounded(.down))
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + String(number) }
    let day = "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)])"
    let time = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    return "\(day) \(Int(parts.tm_year) + 1900) \(time) GMT"
  }
}
