/// A person who can sign in at the sandbox's pages.
package struct User: Sendable, Hashable, Codable {
  package var username: String
  package var password: String
  /// Stable and never reused; `usr_` and the user name where none is given.
  package var sub: String
  package var name: String
  package var email: String
  /// In international form; nil for who has no phone.
  package var phone: String?
  /// Where a provider asks for a PIN; nil for who has none.
  package var pin: String?

  package init(
    username: String, password: String, sub: String? = nil, name: String? = nil,
    email: String? = nil, phone: String? = nil, pin: String? = nil
  ) {
    self.username = username
    self.password = password
    self.sub = sub ?? "usr_\(username)"
    self.name = name ?? username
    self.email = email ?? "\(username)@example.com"
    self.phone = phone
    self.pin = pin
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      username: try container.decode(String.self, forKey: .username),
      password: try container.decode(String.self, forKey: .password),
      sub: try container.decodeIfPresent(String.self, forKey: .sub),
      name: try container.decodeIfPresent(String.self, forKey: .name),
      email: try container.decodeIfPresent(String.self, forKey: .email),
      phone: try container.decodeIfPresent(String.self, forKey: .phone),
      pin: try container.decodeIfPresent(String.self, forKey: .pin))
  }
}

/// Everybody the sandbox knows. Passwords and PINs are no secrets: they stand on the index page.
package struct Users: Sendable {
  package let all: [User]

  package init(_ all: [User] = Users.standard) {
    self.all = all
  }

  /// Their phone numbers are of those that ring nowhere (Ofcom's numbers for drama).
  package static let standard = [
    User(
      username: "alice", password: "alice-password", name: "Alice Adams",
      phone: "+447700900123", pin: "2468"),
    User(
      username: "bob", password: "bob-password", name: "Bob Brown", phone: "+447700900456",
      pin: "1357"),
  ]

  package func named(_ username: String) -> User? {
    all.first { $0.username == username }
  }

  package func withSubject(_ sub: String) -> User? {
    all.first { $0.sub == sub }
  }

  /// Nil for a wrong name, for a wrong PIN and for who has none.
  package func signingIn(_ username: String?, pin: String?) -> User? {
    guard let username, let user = named(username), let pin, user.pin == pin else { return nil }
    return user
  }

  /// Nil for a wrong name and for a wrong password alike.
  package func signingIn(_ username: String?, password: String?) -> User? {
    guard let username, let user = named(username), user.password == password else { return nil }
    return user
  }
}
