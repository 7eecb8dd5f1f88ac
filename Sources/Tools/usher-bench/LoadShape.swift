import ArgumentParser

/// The number of connections, and how they call.
enum LoadShape: String, CaseIterable, Codable, ExpressibleByArgument {
  case one = "1x1"
  case many = "50x1"
  case deep = "50x16"
  case crowded = "50x1+500idle+half"

  var connections: Int { self == .one ? 1 : 50 }

  /// The number of calls on a connection that wait for a reply.
  var depth: Int { self == .deep ? 16 : 1 }

  /// The number of connections that make one call and then stay idle.
  var idle: Int { self == .crowded ? 500 : 0 }

  /// Whether one more connection has sent the first half of a call.
  var hasHalfLine: Bool { self == .crowded }

  /// Whether client and server share a processor. With one connection the client waits while the
  /// server works, and no call has to wake another processor.
  var sharesProcessor: Bool { self == .one }
}

/// The servers that are measured.
enum ServerName: String, CaseIterable, Codable, ExpressibleByArgument {
  case usherd
  case echo
  case redis
  case sshAgent = "ssh-agent"
  case oidcAgent = "oidc-agent"

  /// Whether the server can be measured under a load. One that serves a single connection, and one
  /// call on it, would wait for the idle ones.
  func takes(_ load: LoadShape) -> Bool {
    switch self {
    case .usherd, .echo, .redis, .sshAgent: true
    case .oidcAgent: load.depth == 1 && load.idle == 0
    }
  }
}
