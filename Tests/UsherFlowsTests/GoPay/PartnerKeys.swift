import UsherCore

/// RSA keys that were generated for these tests and are used nowhere else.
enum PartnerKeys {
  /// A key of 2048 bits.
  static let good = Secret(
    """
    -----BEGIN PRIVATE KEY-----
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCLKONSzkFSyZWC
    W6FRh0z0H7xbljRc7M+FyiCzoc2MIzvs3o2953+DkZ9ZiXMF7uCIEr5WV8MPYN5r
    ntXQFYdCPB0F2Dun0THvboRjZva6VrnaAHohGkM15vCkgMxmT9Cj8vVKH72qGf13
    7mt1ztHolSIxLgvU2/XDE7U8jXxLUbmrISWZ//5y+Vf8mMaPrx0ZRQteVmdKdnDP
    TrPNIXJsCPh7XY7eGcfE1uqj3sKLEcQ2csg/DFjve1WUTWyg5uySwhHedKT6FtFA
    HkoiGz2utCxyh5en7IUS9cjHH33jm6dW4lgJ3zS0SQvRZyPKjAG/Qi0ifKKcMKlO
    etBskVThAgMBAAECggEABF+Lw88brE3tmPX3WA4hBem+qA/si7hNNgCV9iE1SgR0
    Mlek45E8L5K+q9AbDVZeR+ZzZPgfdxrxqHcKk/5ONK+aD6RFzSqAx8wMxOkwIydd
    Mje6PtKyBqZQHRJXYhZ7aYCV0u9UDP3BuoBzj/VowTb5FuuyF12Vf8y9cQaG/8Cp
    D/GMoN1rUYovAaazmVYdn+sPPuHs9jaKMC7ByCFyj+JTZQ81dJ60jde6t5tYw7Ub
    emDtnl1KGGP+eoBkrYKZtyX1oJv3BwebFfc3R3q5wyROtN6XWJ5QcGqMEzHhbnpN
    wSzuoZUjF2Ixd9bVpI2WrzuYhInCq2kfvNokZ5stUQKBgQDA4aGpN8lDDW8RkyzB
    /yoYdGGxaAvEpIB33+8r1AKz0xdk6VX0gFLp/I9mKZB1/RJVk5fZOgH8D66TgKeD
    NTHqSXbNMFme+taHGDz/RL2/38XmLAdUwrGpXIbByQ78PlUp8gtAQVYiafQdVuF4
    /ycWzw9EqeOkUvk8ZT3bRO9F0QKBgQC4ssy4dCNNm4gr+Ov1pN68OHokxwN8drY2
    P6NHMla1i2q3j6+s+F5JXUEhyi7OMOYXU36igkJTR+dvtNcKrLweyiNzaF7blLn8
    kbqm4CFXAz5vRZYOfkKMwS3vWnxZu37YgdE8bxfCfv+0Z2uXD4MPxK7VV/VERpXV
    togWWbUSEQKBgEqVdSu4FK1G/pHvNTl279Iw/q3ZK+PIMJ0qDJQIEVtz3vH4gHJh
    RK6SKOk6XVAiofpRbkBje+z6K2mCMEQ+R6Tu7298qMse9+GZb8zNygnt/9p3YAZY
    mtaAnuNEWfUULV5g6BTarvHzwp+tvtZI49agDqlggFREeXfvNjIZv+RhAoGBAKnm
    YAe1XdxAHE1G19fJZ9MAqOs33u8ZTJguhgYyOi0aKHrexB17A1C9ZfKtR80IkkAW
    4EChTl3JoQ3S7pW1O/+etmmtMsUO1N+PNoHXXxPpuf8lpdmDL7jG43hwZj8tCIwl
    LtJG5zZVGOdc003MSSWyKZm7JbU+sQo8tIbK0pPhAoGAEosSKkcRW4HNgfHCE0ee
    SduH7pB4wT9UcXlsWGSDZoubQ2TNlG6VvYBZ09H0+dz5lgl6zddyvvc/NYfW4Qak
    sL/UdvNxYJ9zfyyIWGAvvsXlrwOlCHGSt/+1RM/DA58woVrOxK+GFvZRemyshfgQ
    3pA9KG3nWZushe72fvINpWU=
    -----END PRIVATE KEY-----
    """)

  /// A key of 1024 bits, which is too short.
  static let short = Secret(
    """
    -----BEGIN PRIVATE KEY-----
    MIICdQIBADANBgkqhkiG9w0BAQEFAASCAl8wggJbAgEAAoGBANVZNbDVu3as0T5n
    m8PLMnNBQ6J3+RUmAKN2m+9LHBbH9pGmn5cu0kEvlm/B+FH/f9wsgKA1WBwC7M8P
    pd7nTo+bXnYZpRp7SF0Yx4OUA+uZUVvuKM5wopsxtzMjcXbUupEr2UoJgD8OuZT9
    mbmhUVWrhnFZ2WuPiIPSs8Wbgz+dAgMBAAECgYBytc2Fb9WkgFTc7c41XrqYd53K
    7CCzu0Qan7pF1iebJBaxx1oFanpH7DNBkZRXWj2//vmFqkjefsAesLYpfEqjNpPc
    84oaxOIpfXx+M9QJCY5pKDW9ds0hnynvAo22mt7rdZFK9Plt4E0MZDx7bAV6CS0O
    dA+8AoKqy+zqi7/9DQJBAPKtGCzmVrCqp2tROHMICWKHmcKQBEjEmzr4sYbOrLB3
    UTHSWm2rmlUzZgmWNepbXgAzvoG2wmfuyXRPyJppkpcCQQDhD+dXTyJrW0+xWzYj
    Pdvhvznm2RhpTopRbiVXd4vw4y5kQHUHuMD85NXSrrJyhj6WGAGy3xK29SZQ/u9K
    TKnrAkBzQoFD+hbcjAE+eHIeOIf0k0EVZr+SLEcqKCpxQ8JDgjg/OJCYnDOOGf5x
    uTVcXQ71e54VD8+f+4sVQjueE1x7AkBcamplaKJKkSktO7YETJ9gmGRPTa//dffI
    LkF5JCa7mJ3xHqKvtAbTEahXpdKywjsq6Nqxt3X42LuOINDjoo1XAkAWjZmf4J9r
    qb143TOrVGthLhn5yo2FDJKOQfW1NWNBtwYSJE7Rnn39YwHO50TTNqe6M7dob8fW
    ilKsoSm0To+b
    -----END PRIVATE KEY-----
    """)
}
