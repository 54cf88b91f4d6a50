// zod, which Scalar checks its settings with, would try whether it may compile code. It may not.

import { config } from 'zod'

config({ jitless: true })
