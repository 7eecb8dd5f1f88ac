import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import NIOCore
import NIOSSL
import ServiceLifecycle
import Synchronization

/// The second listener of a sandbox, to which clients connect by TLS and may present certificates.
/// It serves the same endpoints as the first one.
package final class TLSListener: Sendable {
  package let authority: CertificateAuthority
  private let addresses = Mutex<(plain: String?, encrypted: String?)>((nil, nil))

  init() throws { authority = try CertificateAuthority() }

  /// The base URL of this listener, `https://127.0.0.1:PORT`; nil while it does not listen.
  package var base: String? { addresses.withLock { $0.encrypted } }

  /// The base URL of the first listener, which is the one of the issuer; nil while it does not
  /// listen.
  var plainBase: String? {
    get { addresses.withLock { $0.plain } }
    set { addresses.withLock { $0.plain = newValue } }
  }

  fileprivate func setBase(_ base: String) { addresses.withLock { $0.encrypted = base } }

  /// Returns a builder for servers that let clients present certificates. A certificate that is
  /// neither self-signed nor of this authority ends the handshake.
  func serverBuilder(over base: HTTPServerBuilder) throws -> HTTPServerBuilder {
    try .tls(
      base,
      configuration: TLSChannelConfiguration(
        tlsConfiguration: try authority.listenerConfiguration(),
        customAsyncVerificationCallback: { [authority] chain in
          guard let first = chain.first, let presented = try? PresentedCertificate(first),
            presented.isSelfSigned || authority.hasIssued(presented)
          else { return .failed }
          return .certificateVerified
        }))
  }
}

/// Runs the two listeners of a sandbox. The one with TLS listens first, so that the metadata can
/// name its address.
struct SandboxService: Service {
  let plain: any Service
  /// Returns the server with TLS.
  ///
  /// - Parameter listening: Receives the base URL once connections are accepted.
  let encrypted:
    @Sendable (_ listening: @escaping @Sendable (String) async -> Void) throws
      -> any Service
  let listener: TLSListener

  func run() async throws {
    let (addresses, announced) = AsyncStream.makeStream(of: String.self)
    let encrypted = try encrypted { announced.yield($0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        defer { announced.finish() }
        try await encrypted.run()
      }
      for await base in addresses {
        listener.setBase(base)
        break
      }
      if listener.base != nil { group.addTask { try await plain.run() } }
      while try await group.next() != nil {}
    }
  }
}
