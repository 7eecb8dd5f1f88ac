import ArgumentParser

/// How many connections call, and how.
enum LoadShape: String, CaseIterable, Codable, ExpressibleByArgument {
  case one = "1x1"
  case many = "50x1"
  case deep = "50x16"
  case crowded = "50x1+500idle+half"

  var connections: Int { self == .one ? 1 : 50 }

  /// Calls of a connection that are not answered.
  var depth: Int { self == .deep ? 16 : 1 }

  /// Connections that have called once.
  var idle: Int { self == .crowded ? 500 : 0 }

  /// Whether one more connection has sent the half of a call.
  var hasHalfLine: Bool { self == .crowded }

  /// One connection's client waits while its server works: they share a processor, where no call
  /// has to wake another one.
  var sharesProcessor: Bool { self == .one }
}

/// What is measured, and beside what.
enum ServerName: String, CaseIterable, Codable, ExpressibleByArgument {
  case usherd
  case echo
  case redis
  case sshAgent = "ssh-agent"
  case oidcAgent = "oidc-agent"

  /// One that serves a connection at a time, and one call on it, would wait for the idle ones.
  func takes(_ load: LoadShape) -> Bool {
    switch self {
    case .usherd, .echo, .redis, .sshAgent: true
    case .oidcAgent: load.depth == 1 && load.idle == 0
    }
  }
}
